package cifar

import (
	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data/image"
)

func newSet(n int) *image.Set {
	return &image.Set{
		Images:  image.Images{N: n, C: channels, H: side, W: side, Pixels: make([]uint8, n*size)},
		Labels:  make([]uint8, n),
		Classes: classes,
		Names:   []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"},
	}
}

// Dense returns the images as [N,C,H,W] normalised values. All of CIFAR-10 takes
// 1.5 GB in float64; [Gather] makes a batch at a time.
func Dense[T image.Float](im *image.Images, t *image.Table[T]) *tensor.Dense {
	out := make([]T, len(im.Pixels))
	t.Convert(out, im.Pixels, im.H*im.W)
	return tensor.New(tensor.WithShape(im.N, im.C, im.H, im.W), tensor.WithBacking(out))
}

// Gather normalises the images with the numbers rows and writes them to the front of dst:
// [len(rows),C,H,W] values. It panics if a number is not in [0,N) or dst is too short.
func Gather[T image.Float](dst []T, im *image.Images, t *image.Table[T], rows []int) {
	size := im.C * im.H * im.W
	for i, r := range rows {
		t.Convert(dst[i*size:(i+1)*size], im.Pixels[r*size:(r+1)*size], im.H*im.W)
	}
}

// These are two normalisations that pretrained CIFAR-10 networks expect.
var (
	// Chenyaofo is the normalisation of the networks of
	// github.com/chenyaofo/pytorch-cifar-models, which the VaLLA paper uses.
	Chenyaofo = image.Normalize{Mean: [3]float64{.4914, .4822, .4465}, Std: [3]float64{.2023, .1994, .2010}}
	// Akamaster is the normalisation of github.com/akamaster/pytorch_resnet_cifar10. Its
	// numbers are usual for ImageNet.
	Akamaster = image.Normalize{Mean: [3]float64{.485, .456, .406}, Std: [3]float64{.229, .224, .225}}
)
