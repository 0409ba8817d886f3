package sampled

import (
	"math/rand/v2"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/systematic"
)

// subset is rows that stand for all: the sum over them, each times its weight, estimates the sum
// over all rows.
type subset struct {
	gp.Examples
	rows    []int     // their numbers; nil: all rows
	y       []float64 // their targets [n,W·C]
	weights []float64 // nil: 1 for each
}

// whole is all rows of e.
func whole(e gp.Examples) subset { return subset{Examples: e, y: graph.Floats(e.Y)} }

// taken are the rows of out [N,C] that belong to the subset.
func (s subset) taken(out []float64, c int) []float64 {
	if s.rows == nil {
		return out
	}
	some := make([]float64, 0, len(s.rows)*c)
	for _, row := range s.rows {
		some = append(some, out[row*c:(row+1)*c]...)
	}
	return some
}

// leading draws n of all rows, with probabilities in proportion to the traces tr Λ; or all, where
// there are no more.
func (f *fitting) leading(traces []float64, n int, rng *rand.Rand) subset {
	if n >= f.p.Train.N() {
		return f.all
	}
	rows, weights := systematic.Sample(traces, n, rng.Float64())
	for i, pi := range weights {
		weights[i] = 1 / pi
	}
	if rows == nil {
		rows, weights = []int{0}, []float64{0} // no row has a curvature
	}
	s := whole(f.p.Train.Rows(rows))
	s.rows, s.weights = rows, weights
	return s
}
