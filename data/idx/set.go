package idx

import (
	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data/image"
)

// ReadSet returns the set in a file of images and a file of labels. If their numbers differ,
// or if a label is not below classes, the error is an [ErrFormat].
func ReadSet(images, labels string, classes int) (*image.Set, error) {
	im, err := ReadImages(images)
	if err != nil {
		return nil, err
	}
	l, err := ReadLabels(labels)
	if err != nil {
		return nil, err
	}
	if len(l) != im.N {
		return nil, malformed(labels, 4, "%d labels, one for each image of %s", "%d", im.N, images, len(l))
	}
	for i, label := range l {
		if int(label) >= classes {
			const header = 8
			return nil, malformed(labels, header+i, "a label of 0 to %d", "%d", classes-1, label)
		}
	}
	return &image.Set{Images: *im, Labels: l, Classes: classes}, nil
}

// Dense returns the images as [N,H·W] values pixel/255. Each value is the exact quotient,
// rounded once to T.
func Dense[T image.Float](im *image.Images) *tensor.Dense {
	out := make([]T, len(im.Pixels))
	scale(out, im.Pixels, quotients[T]())
	return tensor.New(tensor.WithShape(im.N, im.H*im.W), tensor.WithBacking(out))
}

// Gather writes the images with the numbers rows, as pixel/255, to the front of dst:
// [len(rows),H·W] values. It needs memory for a batch only, whereas [Dense] needs four or
// eight bytes for each pixel of the whole set. It panics if a number is not in [0,N) or dst
// is too short.
func Gather[T image.Float](dst []T, im *image.Images, rows []int) {
	size, quotient := im.H*im.W, quotients[T]()
	for i, r := range rows {
		scale(dst[i*size:(i+1)*size], im.Pixels[r*size:(r+1)*size], quotient)
	}
}

// quotients returns v/255 for each byte v. Looking it up is faster than dividing.
func quotients[T image.Float]() *[256]T {
	var q [256]T
	for v := range q {
		q[v] = T(v) / 255
	}
	return &q
}

func scale[T image.Float](dst []T, src []uint8, quotient *[256]T) {
	for i, v := range src {
		dst[i] = quotient[v]
	}
}
