package idx

import (
	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data/image"
)

// readSet returns the set in a file of images and a file of labels. If their numbers differ,
// or if a label is not below classes, the error is an [ErrFormat].
func readSet(images, labels string, classes int) (*image.Set, error) {
	im, err := readFile(images, DecodeImages)
	if err != nil {
		return nil, err
	}
	l, err := readFile(labels, decodeLabels)
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
	out, quotient := make([]T, len(im.Pixels)), quotients[T]()
	for i, v := range im.Pixels {
		out[i] = quotient[v]
	}
	return tensor.New(tensor.WithShape(im.N, im.H*im.W), tensor.WithBacking(out))
}

// quotients returns v/255 for each byte v. Looking it up is faster than dividing.
func quotients[T image.Float]() *[256]T {
	var q [256]T
	for v := range q {
		q[v] = T(v) / 255
	}
	return &q
}
