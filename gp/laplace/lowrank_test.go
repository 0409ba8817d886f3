package laplace

import (
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/small"
	"gorgonia.org/tensor"
)

// Where no eigenvalue is left out, and where the data are fewer than the weights so
// that there are fewer to keep than asked for, a low rank is exact.
func TestLowRankOfFullRank(t *testing.T) {
	for _, n := range []int{4, 40} { // 27 weights, so 12 or 120 rows
		everySpace([]int{3}, func(what string, o options, c int) {
			if o.Structure != kindFull {
				return
			}
			p := problemFor(t, o, 61, tensor.Float64, n, 4, c)
			want := p.fit(t, o)
			o.Structure, o.Rank = kindLowRank, 0
			got := p.fit(t, o)
			comparePosteriors(t, label(what, ", ", n, " examples"), got, want, p.probe)
			// Softmax's rows sum to 0, so that the third row of three says nothing.
			if k := got.structure.(*lowRank).n; k > min(27, n*c) || !noisy(o.Likelihood) && k > n*(c-1) {
				t.Errorf("%s: rank %d", what, k)
			}
		})
	}
}

// TestLowRankWithoutInner: what a finished posterior predicts with is planned, in memory, too.
func TestLowRankWithoutInner(t *testing.T) {
	q := newProblem(t, 61, tensor.Float64, 30, 4, 2).fit(t, options{Structure: kindLowRank, Rank: 3, PriorStd: 1, NoiseStd: 1})
	if got, want := q.marginalBytes(5), gp.Numbers(5, 2, 2*3+q.scan.params); got != want {
		t.Errorf("%d bytes of the covariances of 5 examples, want %d", got, want)
	}
}

// More of the eigenvectors explain more, so that variances fall and γ rises.
func TestLowRankGrows(t *testing.T) {
	p := newProblem(t, 62, tensor.Float64, 30, 5, 2)
	var last *posterior
	for k := 1; k <= 12; k++ {
		q := p.fit(t, options{Structure: kindLowRank, Rank: k, PriorStd: 1, NoiseStd: 0.5})
		if got := q.structure.(*lowRank).n; got != k {
			t.Fatalf("rank %d, want %d", got, k)
		}
		if last != nil {
			_, more := small.Moments(t, last, p.probe)
			_, less := small.Moments(t, q, p.probe)
			for i := 0; i < len(more); i += 4 { // the first output of each example
				if less[i] > more[i]*(1+1e-12) {
					t.Errorf("rank %d: variance %g of output 0 of example %d, %g with one eigenvector less", k, less[i], i/4, more[i])
				}
			}
			if q.EffectiveParameters() <= last.EffectiveParameters() {
				t.Errorf("rank %d: γ %g is not above %g", k, q.EffectiveParameters(), last.EffectiveParameters())
			}
		}
		last = q
	}
}
