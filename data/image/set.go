package image

import (
	"fmt"

	"gorgonia.org/tensor"
)

// Images are N >= 1 images of C×H×W pixels, kept as bytes: an eighth of their size as
// float64.
type Images struct {
	N, C, H, W int     // numbers of images, channels, rows and columns
	Pixels     []uint8 // [N,C,H,W], row-major
}

// Set is N labelled images.
type Set struct {
	Images
	Labels  []uint8  // [N], each below Classes
	Classes int      // number of classes
	Names   []string // of the classes, or nil
}

// Splits are the three parts of a data set of images.
type Splits struct {
	Train, Validation, Test *Set // the parts, which may share memory
}

// Slice returns the examples from...to-1, which share their memory with s. It
// panics unless 0 <= from < to <= N.
func (s *Set) Slice(from, to int) *Set {
	if from < 0 || from >= to || to > s.N {
		panic(fmt.Sprintf("image: examples %d to %d of %d", from, to, s.N))
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

// OneHot returns the labels as [N,Classes], where each row is 1 at its label and 0 elsewhere.
func OneHot[T Float](s *Set) *tensor.Dense {
	out := make([]T, s.N*s.Classes)
	for i, label := range s.Labels {
		out[i*s.Classes+int(label)] = 1
	}
	return tensor.New(tensor.WithShape(s.N, s.Classes), tensor.WithBacking(out))
}
