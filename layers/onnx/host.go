package onnx

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/internal/raw"
)

// maxHost bounds the elements of a constant.
const maxHost = 1 << 23

// host is a constant: an array that does not depend on the examples or on the weights, such as
// the numbers of a shape. Whole numbers up to 2^53 are exact.
type host struct {
	shape []int     // extents of the axes; empty for a single number
	v     []float64 // elements, row-major
	whole bool      // integers or booleans
}

// integers is a vector of whole numbers.
func integers(v []int) *host { return &host{shape: []int{len(v)}, whole: true, v: widened(v)} }

// ints returns the elements as integers. Elements beyond ±2^53, by which exporters mean the end of
// an axis, become the largest or the smallest int32.
func (h *host) ints() []int {
	out := make([]int, len(h.v))
	for i, x := range h.v {
		switch {
		case x >= 1<<53:
			out[i] = math.MaxInt32
		case x <= -1<<53:
			out[i] = math.MinInt32
		default:
			out[i] = int(x)
		}
	}
	return out
}

// size returns the number of elements; 0 for nil.
func (h *host) size() int {
	if h == nil {
		return 0
	}
	return len(h.v)
}

// scalar returns the only element.
func (h *host) scalar() (float64, bool) {
	if h == nil || len(h.v) != 1 {
		return 0, false
	}
	return h.v[0], true
}

func (h *host) reshaped(shape []int) *host { return &host{shape: shape, v: h.v, whole: h.whole} }

// broadcast returns the shape to which two shapes broadcast, as in NumPy.
func broadcast(a, b []int) ([]int, error) {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	for i, n := range b {
		at := len(a) - len(b) + i
		switch {
		case out[at] == 1:
			out[at] = n
		case n != 1 && n != out[at]:
			return nil, fmt.Errorf("shapes %v and %v do not fit together", a, b)
		}
	}
	return out, nil
}

// strides returns, for an array of the given shape that broadcasts to n axes, the step in the
// array's elements along each of the n axes.
func strides(shape []int, n int) []int {
	out, step := make([]int, n), 1
	for d := len(shape) - 1; d >= 0; d-- {
		if shape[d] > 1 {
			out[n-len(shape)+d] = step
		}
		step *= shape[d]
	}
	return out
}

// view copies the elements of h at Σ index·steps, for all indices of a shape.
func (h *host) view(shape, steps []int) (*host, error) {
	if _, err := raw.Count(shape, maxHost); err != nil {
		return nil, err
	}
	return &host{shape: shape, v: raw.Gather(h.v, shape, steps, 0, 1), whole: h.whole}, nil
}

// expanded broadcasts h to a shape, which has at least as many axes.
func (h *host) expanded(shape []int) (*host, error) {
	to, err := broadcast(h.shape, shape)
	if err != nil {
		return nil, err
	}
	return h.view(to, strides(h.shape, len(to)))
}

// zip applies f to the pairs of two arrays that broadcast.
func zip(a, b *host, whole bool, f func(x, y float64) float64) (*host, error) {
	x, err := a.expanded(b.shape)
	if err != nil {
		return nil, err
	}
	y, err := b.expanded(a.shape)
	if err != nil {
		return nil, err
	}
	for i := range x.v {
		x.v[i] = f(x.v[i], y.v[i])
	}
	x.whole = whole
	return x, nil
}

// each applies f to the elements.
func (h *host) each(f func(x float64) float64) *host {
	out := &host{shape: h.shape, v: make([]float64, len(h.v)), whole: h.whole}
	for i, x := range h.v {
		out.v[i] = f(x)
	}
	return out
}

// gathered takes the parts at places along an axis.
func (h *host) gathered(axis int, at []int) (*host, error) {
	outer, width := product(h.shape[:axis]), product(h.shape[axis+1:])
	shape := slices.Clone(h.shape)
	shape[axis] = len(at)
	if _, err := raw.Count(shape, maxHost); err != nil {
		return nil, err
	}
	out := &host{shape: shape, whole: h.whole}
	for o := range outer {
		for _, k := range at {
			from := (o*h.shape[axis] + k) * width
			out.v = append(out.v, h.v[from:from+width]...)
		}
	}
	return out, nil
}

// transposed permutes the axes.
func (h *host) transposed(perm []int) (*host, error) {
	own, shape, steps := strides(h.shape, len(perm)), make([]int, len(perm)), make([]int, len(perm))
	for d, p := range perm {
		shape[d], steps[d] = h.shape[p], own[p]
	}
	return h.view(shape, steps)
}
