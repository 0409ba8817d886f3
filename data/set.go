package data

import (
	"math"
	"math/rand/v2"

	"gorgonia.org/tensor"
)

// A Set is a supervised dataset of N examples.
type Set struct {
	Features []string // names of the D columns of X; nil where X is no table
	Targets  []string // names of the T columns of Y
	// X is [N,D] for a table, in float64, or in float32 where the function that makes the
	// set says so. For images it is [N,C,H,W] and may be uint8.
	X *tensor.Dense
	Y *tensor.Dense // [N,T], float64 or float32

	// Encoding made X of the columns of a table; nil if X holds them as they are.
	Encoding *Encoding
	// Paddings say how lists of different lengths have become columns; nil for none.
	Paddings []Padding
	// Labels are the names of classes, whose places Y holds; nil if Y holds the targets.
	Labels []string
	// Origins are the numbers of the examples among the rows that they come from, counting from 0; nil where they
	// are the same.
	Origins []int
}

// N returns the number of examples.
func (s *Set) N() int { return s.X.Shape()[0] }

// Origin returns the number of an example among the rows that the set comes from, for messages.
func (s *Set) Origin(i int) int {
	if s.Origins == nil {
		return i
	}
	return s.Origins[i]
}

// Rows returns a copy of the examples with the numbers rows, in that order. Numbers may
// repeat. It panics if rows is empty or a number is not in [0,N).
func (s *Set) Rows(rows []int) *Set {
	out := *s
	out.X, out.Y = TakeRows(s.X, rows), TakeRows(s.Y, rows)
	out.Origins = make([]int, len(rows))
	for i, row := range rows {
		out.Origins[i] = s.Origin(row)
	}
	return &out
}

// TakeRows returns a copy [len(rows),…] of the rows of t [N,…] with the numbers rows. t
// holds float32, float64 or uint8. It panics if rows is empty, because no tensor is without
// elements.
func TakeRows(t *tensor.Dense, rows []int) *tensor.Dense {
	if len(rows) == 0 {
		panic("data: a set of no rows")
	}
	shape := t.Shape().Clone()
	width := shape.TotalSize() / shape[0]
	shape[0] = len(rows)
	out := tensor.New(tensor.Of(t.Dtype()), tensor.WithShape(shape...))
	switch t.Dtype() {
	case tensor.Float64:
		Gather(out.Float64s(), t.Float64s(), width, rows)
	case tensor.Float32:
		Gather(out.Float32s(), t.Float32s(), width, rows)
	default:
		Gather(out.Uint8s(), t.Uint8s(), width, rows)
	}
	return out
}

// Gather copies rows of src, which have width values each, to the front of dst. Row rows[i]
// of src becomes row i of dst, which needs len(rows)*width values.
func Gather[T any](dst, src []T, width int, rows []int) {
	for i, r := range rows {
		copy(dst[i*width:(i+1)*width], src[r*width:(r+1)*width])
	}
}

// Split divides the row numbers 0...n-1 at random. test holds n*fraction numbers, rounded to
// the nearest number, which is at least 0 and at most n; train holds the others. Both are in
// random order.
func Split(n int, fraction float64, rng *rand.Rand) (train, test []int) {
	rows := rng.Perm(n)
	size := 0
	if fraction > 0 { // false for NaN
		size = int(math.Round(min(fraction, 1) * float64(n)))
	}
	return rows[size:], rows[:size]
}
