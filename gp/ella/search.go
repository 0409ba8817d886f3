package ella

import (
	"context"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fault"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/jacobian"
)

// candidates lists the standard deviations that are tried for a problem: one pair where the
// settings have both.
func (s *Settings) candidates(p gp.Problem) []gp.Candidate {
	priors := s.PriorGrid
	if s.PriorStd > 0 {
		priors = []float64{s.PriorStd}
	}
	return gp.Candidates(p, priors, s.NoiseStd)
}

// heldOut are validation examples with their features.
type heldOut struct {
	y, mean []float64             // [n,W·C] and [n,C]
	phi     []float64             // [n,C,K]
	c, k    int                   // C and K
	lik     likelihood.Likelihood // of the targets; a noise variance is not used
}

// newHeldOut computes the features of validation examples.
func newHeldOut(ctx context.Context, f *jacobian.Directional, e gp.Examples, lik likelihood.Likelihood, tell func(done, total int)) (*heldOut, error) {
	n, c, k := e.N(), f.Outputs(), f.Directions()
	h := &heldOut{y: graph.Floats(e.Y), mean: make([]float64, n*c), phi: make([]float64, n*c*k), c: c, k: k, lik: lik}
	err := f.Each(ctx, e.X, func(first int, mean, phi []float64) error {
		copy(h.mean[first*c:], mean)
		copy(h.phi[first*c*k:], phi)
		tell(first+len(mean)/c, n)
		return nil
	})
	return h, err
}

// heldOutBytes is the memory of n validation examples.
func heldOutBytes(n, c, k int) int64 { return 8 * int64(n) * int64(c) * int64(2+2*k) }

// best returns the candidate with the smallest mean negative log predictive density, and this
// density. It is an error if no density is finite.
func (h *heldOut) best(p precision, share float64, all []gp.Candidate) (gp.Candidate, float64, error) {
	squares := make([]float64, len(h.phi)) // (φ Q)²
	kernel.Gemm(false, false, len(h.mean), h.k, h.k, 1, h.phi, h.k, p.q, h.k, 0, squares, h.k)
	kernel.Mul(squares, squares, squares)
	found, nll, err := gp.Best(all, "standard deviations", func(c gp.Candidate) (gp.Candidate, float64, error) {
		return c, h.nll(squares, p.variances(c.Prior, c.Noise*c.Noise, share), c.Noise*c.Noise), nil
	})
	return found, nll, fault.In("ella", err)
}

// nll returns the mean negative log predictive density, each output by itself, with the covariances
// ψ diag(s) ψᵀ, where squares [n,C,K] are ψ² of the features ψ in the coordinates of s.
func (h *heldOut) nll(squares, s []float64, noiseVariance float64) float64 {
	return gp.MeanNLLOfEach(likelihood.WithNoise(h.lik, noiseVariance), h.y, h.mean, h.c, func(n int, v []float64) {
		for j := range v {
			at := (n*h.c + j) * h.k
			v[j] = kernel.Dot(squares[at:at+h.k], s)
		}
	})
}
