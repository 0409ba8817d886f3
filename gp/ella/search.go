package ella

import (
	"context"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/jacobian"
	"gorgonia.org/tensor"
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
	y, mean []float64 // [n,C]
	phi     []float64 // [n,C,K]
	c, k    int
	classes bool
}

// newHeldOut computes the features of validation examples.
func newHeldOut(ctx context.Context, f *jacobian.Directional, e gp.Examples, targets []float64, classes bool, tell func(done, total int)) (*heldOut, error) {
	n, c, k := e.N(), f.Outputs(), f.Directions()
	h := &heldOut{y: targets, mean: make([]float64, n*c), phi: make([]float64, n*c*k), c: c, k: k, classes: classes}
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

// best returns the candidate with the smallest mean negative log predictive density, and
// this; +Inf if no density is positive.
func (h *heldOut) best(p precision, share float64, all []gp.Candidate) (found gp.Candidate, nll float64) {
	rotated := make([]float64, len(h.phi)) // φ Q
	kernel.Gemm(false, false, len(h.mean), h.k, h.k, 1, h.phi, h.k, p.q, h.k, 0, rotated, h.k)
	nll = math.Inf(1)
	for _, c := range all {
		if v := h.nll(rotated, p.variances(c.Prior, c.Noise*c.Noise, share), c.Noise*c.Noise); v < nll {
			found, nll = c, v
		}
	}
	return found, nll
}

// nll is the mean negative log predictive density, each output by itself, with the
// covariances ψ diag(s) ψᵀ, where psi [n,C,K] are the features in the coordinates of s.
func (h *heldOut) nll(psi, s []float64, noiseVariance float64) float64 {
	var lik likelihood.Likelihood = likelihood.Softmax{}
	if !h.classes {
		lik = likelihood.NewGaussian(noiseVariance, tensor.Float64)
	}
	c, k := h.c, h.k
	scaled, cov, sum := make([]float64, k), make([]float64, c*c), 0.0
	for at := 0; at < len(h.y); at += c {
		for j := range c {
			row := psi[(at+j)*k : (at+j+1)*k]
			kernel.Mul(scaled, row, s)
			cov[j*c+j] = kernel.Dot(scaled, row)
		}
		sum -= lik.LogPredictive(h.y[at:at+c], h.mean[at:at+c], cov)
	}
	return sum * float64(c) / float64(len(h.y))
}
