package sampled

import (
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
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

// leading draws about n of all rows, which have the traces tr Λ. It returns all where there are no more.
func (f *fitting) leading(traces []float64, n int, rng *rand.Rand) subset {
	if n >= f.p.Train.N() {
		return f.all
	}
	rows, weights := drawn(traces, n, rng.Float64())
	s := whole(f.p.Train.Rows(rows))
	s.rows, s.weights = rows, weights
	return s
}

// drawn draws about n of the rows with sizes t, and returns their weights, with which a sum over
// them has the sum over all rows for its mean. A row whose size is above a bound is taken with the
// weight 1. Of the other rows one is taken for each bound that their sizes add up to, from u in
// [0,1) of the bound on, with the weight bound/size. Rows of size 0 are not drawn.
func drawn(t []float64, n int, u float64) (rows []int, weights []float64) {
	b := bound(t, n)
	next, sum := u*b, 0.0
	for i, size := range t {
		if size > 0 && size >= b {
			rows, weights = append(rows, i), append(weights, 1)
			continue
		}
		if sum += size; sum > next {
			rows, weights = append(rows, i), append(weights, b/size)
			next += b
		}
	}
	if rows == nil {
		return []int{0}, []float64{0} // no row has a size
	}
	return rows, weights
}

// bound is the b with Σ min(1, t/b) = n, for n below the number of sizes t.
func bound(t []float64, n int) float64 {
	t = slices.Sorted(slices.Values(t))
	upTo, sum := make([]float64, len(t)), 0.0
	for i, size := range t {
		sum += size
		upTo[i] = sum
	}
	for k := range n { // the largest k rows are above the bound
		last := len(t) - 1 - k
		if b := upTo[last] / float64(n-k); t[last] <= b {
			return b
		}
	}
	return 0
}
