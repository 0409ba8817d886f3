package gp

import (
	"slices"

	"github.com/go-valla/valla/gp/likelihood"
)

// Learned returns the result of a fit with the posterior q and the observation model l, of which the fit may have
// learned all parameters. With Gaussian noise NoiseVariance says everything, and Likelihood is nil.
func Learned(q Stored, l likelihood.Likelihood, r Record) *Fitted {
	f := &Fitted{Posterior: q, NoiseVariance: likelihood.NoiseVariance(l), Record: r}
	if !likelihood.IsGaussian(l) && len(l.Params()) > 0 {
		f.Likelihood = l
	}
	return f
}

// Scatter returns the variance 1/Λ of the targets around the outputs, where the curvature Λ of the observation model l
// does not depend on the outputs: for models with noise, see likelihood.Noisy. For Gaussian noise 1/Λ is σ². Scatter
// returns 0 for other models, and 1/Λ at the scale 1 where rows have scales of their own.
func Scatter(l likelihood.Likelihood) float64 {
	switch {
	case likelihood.IsGaussian(l):
		return likelihood.NoiseVariance(l)
	case !likelihood.Noisy(l):
		return 0
	}
	curvature := make([]float64, 1)
	l.Curvature(curvature, make([]float64, 1))
	return 1 / curvature[0]
}

// ScatterOf returns the variances 1/Λ [n·C], see [Scatter], of rows with the targets y [n·W·C], of which only
// scales count.
func ScatterOf(l likelihood.Likelihood, y []float64, outputs int) []float64 {
	c, w := outputs, outputs*l.Width()
	if !likelihood.ByRow(l) {
		return slices.Repeat([]float64{Scatter(l)}, len(y)/l.Width())
	}
	out, block, f := make([]float64, len(y)/l.Width()), make([]float64, c*c), make([]float64, c)
	for i := 0; i < len(out); i += c {
		likelihood.CurvatureOf(l, block, y[i/c*w:(i/c+1)*w], f)
		for k := range c {
			out[i+k] = 1 / block[k*c+k]
		}
	}
	return out
}
