package laplace

import (
	"math"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/kernel"
)

// thinning chooses among the rows r = √w_c (e_c − m)ᵀ of the roots of Λ, see likelihood.Root,
// because each costs a pass back through the network, and a network that is sure of its training
// examples has many that hardly count. A row's size is ‖r‖², and the sizes of an example's rows sum
// to the trace of its Λ.
//
// Rows of the size τ or more are taken as they are. Of smaller ones so many are taken as have the
// same sum of sizes with τ each: one whenever the sum of the sizes since has passed τ. This is
// systematic sampling in proportion to the size: it prefers no examples or classes, and
// the sum of all sizes stays as it is but for less than one τ. A row's size then has the variance
// τ·size at most, and τ is 2ε²S with the sum S of all sizes so far. So the standard deviation of a
// sum over all examples, relative to the sum, is at most ε where all passes back have gradients
// of one length. The first keptRows rows are all taken.
type thinning struct {
	epsilon float64   // 0: all rows are taken
	looked  int       // the number of rows so far
	seen    float64   // S
	passed  float64   // the sum of sizes since a row was taken for others
	rows    []float64 // of an example, [C,C]
	m, w    []float64 // mean and weights of the root of an example's Λ [C]
}

const (
	// thinned is ε. It is less than what other examples of the same number would change.
	thinned = 1e-3
	// keptRows are so few that they take seconds at most.
	keptRows = 2048
)

// look computes the rows of an example with the targets y, which may be nil, and the outputs f.
func (t *thinning) look(l likelihood.Likelihood, y, f []float64) {
	c := len(f)
	if len(t.m) < c {
		t.rows, t.w, t.m = make([]float64, c*c), make([]float64, c), make([]float64, c)
	}
	likelihood.RootOf(l, t.w, t.m, y, f)
	for i, w := range t.w {
		row := t.row(i)
		copy(row, t.m)
		row[i]--
		kernel.Scale(row, -math.Sqrt(w), row)
		t.seen += kernel.Dot(row, row)
	}
	t.looked += c
}

// row is row c of the example.
func (t *thinning) row(c int) []float64 { return t.rows[c*len(t.m) : (c+1)*len(t.m)] }

// takes reports whether a row is taken, and makes it longer if it is taken for others.
func (t *thinning) takes(row []float64) bool {
	size, enough := kernel.Dot(row, row), 2*t.epsilon*t.epsilon*t.seen
	if size >= enough || t.looked <= keptRows {
		return size > 0
	}
	if t.passed += size; t.passed < enough {
		return false
	}
	t.passed -= enough
	kernel.Scale(row, math.Sqrt(enough/size), row)
	return true
}

// expect makes rows be taken as if so many times as many examples had been seen.
func (t *thinning) expect(times int) {
	t.looked *= times
	t.seen *= float64(times)
}
