package laplace

import (
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
)

// keeps reports whether another noise takes targets and outputs instead of sums.
func (e evidence) keeps() bool { return e.noisy() && !e.gaussian() }

// bytes is the memory of the targets and outputs of examples.
func (e evidence) bytes(d gp.Examples) int64 {
	return 8 * int64(d.N()) * int64(d.Y.Shape()[1]+e.outputs)
}

// at returns the likelihood with the noise scale of a hyper.
func (e evidence) at(noise float64) likelihood.Likelihood {
	return likelihood.WithNoise(e.likelihood, noise*noise)
}

// logLikelihood returns logLik for a noise scale, which without y and g is the scale of the likelihood.
func (e evidence) logLikelihood(noise float64) float64 {
	if e.y == nil {
		return e.logLik
	}
	return e.densities(0, e.at(noise), e.y, e.g)
}

// noiseSlope returns the derivative of log p(y | θ̂) in log σ.
func (e evidence) noiseSlope(noise float64) float64 {
	if e.gaussian() {
		return e.residuals/(noise*noise) - e.observations
	}
	const h = 1e-5
	return (e.logLikelihood(noise*math.Exp(h)) - e.logLikelihood(noise*math.Exp(-h))) / (2 * h)
}

// mostStep ends the search for a log σ, which has no end where all residuals are 0.
const mostStep = 100

// bestNoise returns the σ at which noiseSlope is −γ, for a γ below N·C.
func (e evidence) bestNoise(gamma float64) float64 {
	if e.gaussian() {
		return math.Sqrt(e.residuals / (e.observations - gamma))
	}
	off := func(logNoise float64) (float64, error) { return -e.noiseSlope(math.Exp(logNoise)) - gamma, nil }
	lo := 0.5 * math.Log(likelihood.NoiseVariance(e.likelihood))
	low, _ := off(lo)
	hi, high := lo, low
	for step := 0.5; low > 0 && step < mostStep; step *= 2 {
		hi, high = lo, low
		lo -= step
		low, _ = off(lo)
	}
	for step := 0.5; high <= 0 && step < mostStep; step *= 2 {
		lo, low = hi, high
		hi += step
		high, _ = off(hi)
	}
	at, _ := enclosedZero(off, lo, low, hi, high, 1e-9)
	return math.Exp(at)
}
