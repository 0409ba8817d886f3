package gp

import (
	"math"

	"github.com/go-valla/valla/gp/likelihood"
)

// Candidate are standard deviations that a fit compares on validation rows: σ₀ of the
// weights and σ of the noise, which is 1 with classes.
type Candidate struct{ Prior, Noise float64 }

// Candidates lists the pairs that a fit to p compares: each of priors with each noise.
// noise > 0 is the only one; otherwise there are nine from a quarter to four times the
// network's residual, and without validation rows this residual alone.
func Candidates(p Problem, priors []float64, noise float64) (out []Candidate) {
	noises := []float64{1}
	if variance := likelihood.NoiseVariance(p.Likelihood); variance > 0 {
		residual := math.Sqrt(variance)
		switch {
		case noise > 0:
			noises = []float64{noise}
		case p.Validation != nil:
			noises = LogSpaced(residual/4, 4*residual, 9)
		default:
			noises = []float64{residual}
		}
	}
	for _, prior := range priors {
		for _, noise := range noises {
			out = append(out, Candidate{prior, noise})
		}
	}
	return out
}

// LogSpaced returns n ≥ 1 numbers from lo to hi, both positive. The ratio of neighbours is
// the same everywhere.
func LogSpaced(lo, hi float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = lo * math.Pow(hi/lo, float64(i)/float64(max(1, n-1)))
	}
	return out
}
