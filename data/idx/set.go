package idx

import (
	"fmt"

	"gorgonia.org/tensor"
)

// Float is the type of the values that images are converted to.
type Float interface{ float32 | float64 }

// A Set is N labelled images. Pixels and labels are kept as bytes, an eighth of
// their size as float64.
type Set struct {
	Images
	Labels  []uint8 // [N], each below Classes
	Classes int
	Names   []string // of the classes, or nil
}

// ReadSet returns the set in a file of images and a file of labels. Different
// numbers of them and labels that are not below classes are an [ErrFormat].
func ReadSet(images, labels string, classes int) (*Set, error) {
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
	return &Set{Images: *im, Labels: l, Classes: classes}, nil
}

// Slice returns the examples from...to-1, which share their memory with s. It
// panics unless 0 <= from < to <= N.
func (s *Set) Slice(from, to int) *Set {
	if from < 0 || from >= to || to > s.N {
		panic(fmt.Sprintf("idx: examples %d to %d of %d", from, to, s.N))
	}
	size, part := s.H*s.W, *s
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
func OneHot[T Float](s *Set) *tensor.Dense {
	out := make([]T, s.N*s.Classes)
	for i, label := range s.Labels {
		out[i*s.Classes+int(label)] = 1
	}
	return tensor.New(tensor.WithShape(s.N, s.Classes), tensor.WithBacking(out))
}

// Dense returns the images as [N,H·W] values pixel/255: exactly that quotient,
// rounded once to T.
func Dense[T Float](im *Images) *tensor.Dense {
	out := make([]T, len(im.Pixels))
	scale(out, im.Pixels, quotients[T]())
	return tensor.New(tensor.WithShape(im.N, im.H*im.W), tensor.WithBacking(out))
}

// Gather puts the images with the numbers rows, as pixel/255, at the front of
// dst: [len(rows),H·W] values. With it a batch costs its own size, where [Dense]
// takes eight bytes a pixel of the whole set. It panics where a number is not in
// [0,N) or dst is too short.
func Gather[T Float](dst []T, im *Images, rows []int) {
	size, quotient := im.H*im.W, quotients[T]()
	for i, r := range rows {
		scale(dst[i*size:(i+1)*size], im.Pixels[r*size:(r+1)*size], quotient)
	}
}

// quotients returns v/255 for each byte v; looking up is faster than dividing.
func quotients[T Float]() *[256]T {
	var q [256]T
	for v := range q {
		q[v] = T(v) / 255
	}
	return &q
}

func scale[T Float](dst []T, src []uint8, quotient *[256]T) {
	for i, v := range src {
		dst[i] = quotient[v]
	}
}
