package cifar

import (
	"fmt"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data/image"
)

// Images are N >= 1 images of C×H×W pixels, kept as bytes: an eighth of their
// size as float64.
type Images struct {
	N, C, H, W int     // of CIFAR-10: N, 3, 32, 32
	Pixels     []uint8 // [N,C,H,W], row-major
}

// A Set is N labelled images.
type Set struct {
	Images
	Labels  []uint8 // [N], each below Classes
	Classes int
	Names   []string // of the classes
}

func newSet(n int) *Set {
	return &Set{
		Images:  Images{N: n, C: channels, H: side, W: side, Pixels: make([]uint8, n*size)},
		Labels:  make([]uint8, n),
		Classes: classes,
		Names:   []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"},
	}
}

// Slice returns the examples from...to-1, which share their memory with s. It
// panics unless 0 <= from < to <= N.
func (s *Set) Slice(from, to int) *Set {
	if from < 0 || from >= to || to > s.N {
		panic(fmt.Sprintf("cifar: examples %d to %d of %d", from, to, s.N))
	}
	size, part := s.C*s.H*s.W, *s
	part.N = to - from
	part.Pixels = s.Pixels[from*size : to*size : to*size]
	part.Labels = s.Labels[from:to:to]
	return &part
}

// Class returns the labels as [N] class numbers.
func (s *Set) Class() []int {
	out := make([]int, s.N)
	for i, label := range s.Labels {
		out[i] = int(label)
	}
	return out
}

// OneHot returns the labels as [N,Classes] rows that are 1 at the label, else 0.
func OneHot[T image.Float](s *Set) *tensor.Dense {
	out := make([]T, s.N*s.Classes)
	for i, label := range s.Labels {
		out[i*s.Classes+int(label)] = 1
	}
	return tensor.New(tensor.WithShape(s.N, s.Classes), tensor.WithBacking(out))
}

// Dense returns the images as [N,C,H,W] normalised values. All of CIFAR-10 takes
// 1.5 GB in float64; [Gather] makes a batch at a time.
func Dense[T image.Float](im *Images, t *image.Table[T]) *tensor.Dense {
	out := make([]T, len(im.Pixels))
	t.Convert(out, im.Pixels, im.H*im.W)
	return tensor.New(tensor.WithShape(im.N, im.C, im.H, im.W), tensor.WithBacking(out))
}

// Gather puts the images with the numbers rows, normalised, at the front of dst:
// [len(rows),C,H,W] values. It panics where a number is not in [0,N) or dst is too
// short.
func Gather[T image.Float](dst []T, im *Images, t *image.Table[T], rows []int) {
	size := im.C * im.H * im.W
	for i, r := range rows {
		t.Convert(dst[i*size:(i+1)*size], im.Pixels[r*size:(r+1)*size], im.H*im.W)
	}
}

// Two normalisations that pretrained CIFAR-10 networks expect.
var (
	// Chenyaofo is that of the networks of github.com/chenyaofo/pytorch-cifar-models,
	// which the VaLLA paper uses.
	Chenyaofo = image.Normalize{Mean: [3]float64{.4914, .4822, .4465}, Std: [3]float64{.2023, .1994, .2010}}
	// Akamaster is that of github.com/akamaster/pytorch_resnet_cifar10: the
	// usual numbers of ImageNet.
	Akamaster = image.Normalize{Mean: [3]float64{.485, .456, .406}, Std: [3]float64{.229, .224, .225}}
)
