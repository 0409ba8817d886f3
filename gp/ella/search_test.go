package ella

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"gorgonia.org/tensor"
)

// TestSearchThreads: the choice of σ₀ on rows that several threads share is the choice of a loop over candidates
// and rows, each time.
func TestSearchThreads(t *testing.T) {
	const n, c, k = 600, 2, 4
	rng := rand.New(rand.NewPCG(8, 0))
	draw := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return v
	}
	lik := likelihood.NewGaussian(1, tensor.Float64)
	h := &heldOut{y: draw(n * c), mean: draw(n * c), phi: draw(n * c * k), c: c, k: k, lik: lik}
	p := precision{d: []float64{0, 0.2, 3, 50}, q: []float64{1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1}}
	all := gp.Candidates(gp.Problem{Likelihood: lik, Validation: &gp.Examples{}}, gp.LogSpaced(0.01, 100, 21), 0)
	var want gp.Candidate
	least := math.Inf(1)
	for _, at := range all {
		noise := at.Noise * at.Noise
		s, nll := p.variances(at.Prior, noise, 1), 0.0
		for i, y := range h.y {
			v := noise
			for b := range k {
				psi := 0.0
				for a := range k {
					psi += h.phi[i*k+a] * p.q[a*k+b]
				}
				v += psi * psi * s[b]
			}
			d := y - h.mean[i]
			nll += (math.Log(2*math.Pi*v) + d*d/v) / 2 / n
		}
		if nll < least {
			want, least = at, nll
		}
	}
	for range 20 {
		if got, nll, err := h.best(p, 1, all); err != nil || got != want || math.Abs(nll-least) > 1e-12*least {
			t.Fatalf("%v with a mean negative log density %v, error %v; want %v, %v", got, nll, err, want, least)
		}
	}
}
