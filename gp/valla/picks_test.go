package valla

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp/internal/steps"
	"github.com/go-valla/valla/gp/likelihood"
	"gorgonia.org/tensor"
)

// TestWithEven: every output has a size, and outputs without sizes have the same one.
func TestWithEven(t *testing.T) {
	if got, want := withEven([]float64{0, 3, 1, 0}), []float64{.05, 3.05, 1.05, .05}; !slices.Equal(got, want) {
		t.Errorf("%v, expected %v", got, want)
	}
	if got := withEven(make([]float64, 3)); !slices.Equal(got, []float64{1, 1, 1}) {
		t.Errorf("without sizes %v", got)
	}
}

// evenly is a source whose Float64s go through n equal parts of [0,1), one after the other.
type evenly struct{ i, n uint64 }

func (e *evenly) Uint64() uint64 {
	e.i++
	return uint64(float64(2*e.i-1) / float64(2*e.n) * (1 << 53)) // Float64 takes the lower 53 bits
}

// TestPicksUnbiased: over all draws the weighted λ equal the λ of all outputs. Each draw has K
// different outputs in ascending order.
func TestPicksUnbiased(t *testing.T) {
	const c, draws = 6, 20_000
	rng := rand.New(rand.NewPCG(1, 2))
	for k := 1; k < c; k++ {
		sizes, lambda := make([]float64, c), make([]float64, c)
		for i := range sizes {
			sizes[i], lambda[i] = math.Exp(3*rng.NormFloat64()), rng.NormFloat64()
		}
		least, sum, p := 1.0, make([]float64, c), &picks{outputs: c, each: k}
		at := rand.New(&evenly{n: draws})
		for range draws {
			p.choose(sizes, at)
			if len(p.chosen) != k || !slices.IsSorted(p.chosen) || len(slices.Compact(slices.Clone(p.chosen))) != k {
				t.Fatalf("sizes %v: chosen %v, expected %d different outputs", sizes, p.chosen, k)
			}
			for i, v := range p.weighted(lambda) {
				sum[p.chosen[i]] += v / draws
			}
			least = min(least, slices.Min(p.share))
		}
		for i := range sum {
			if math.Abs(sum[i]-lambda[i]) > 2*math.Abs(lambda[i])/least/draws {
				t.Errorf("K = %d: the mean of λ of output %d is %g, expected %g", k, i, sum[i], lambda[i])
			}
		}
	}
}

// TestPicksSpread: outputs that are not chosen get the mean of those that are.
func TestPicksSpread(t *testing.T) {
	p := &picks{outputs: 3, each: 2, chosen: []int{0, 2, 1, 2}}
	if got, want := p.spread([]float64{1, 3, 5, 6}), []float64{1, 2, 3, 5.5, 5, 6}; !slices.Equal(got, want) {
		t.Errorf("%v, expected %v", got, want)
	}
	if got, want := p.seeds(), []float64{1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("seeds %v, expected %v", got, want)
	}
}

// TestSizes: an example of two classes between which the network cannot decide counts, although
// its λ are 0, and one that it is sure of does not, unless it is wrong. There the slope of
// −log softmax(f/√(1 + πQ/8)) by Q_cc is π/16 |f_c|.
func TestSizes(t *testing.T) {
	n := &natural{fitting: &fitting{lik: likelihood.Softmax{}}, outputs: 2}
	l, err := steps.NewDataTerm(n.lik, 1, 3, 2, tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	got, err := n.sizes(l, []float64{0, 0, 20, -20, 20, -20}, []float64{1, 0, 1, 0, 0, 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.25, 0.25, 0, 0, 20 * math.Pi / 8, 20 * math.Pi / 8} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("sizes %v, expected %g at %d", got, want, i)
			break
		}
	}
}
