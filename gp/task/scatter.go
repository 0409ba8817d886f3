package task

import (
	"math"
	"math/rand/v2"
)

// Scatter returns a random target t of row i, in the units of the data, around the value f of the latent function in
// the network's units: a draw from the observation model given f. With laws of residuals, which describe the latent
// function and the noise together, f with Gaussian noise keeps its rank, so that targets of rows whose f belong to one
// function depend on each other, and each target has its [Prediction.Distribution].
func (p *Prediction) Scatter(i, t int, f float64, rng *rand.Rand) float64 {
	s := &p.spread
	if s.under != nil {
		return s.of.invert(t, s.under.Scatter(i, t, f, rng))
	}
	k := i*max(1, len(p.Targets)) + t
	shift, scale := s.units(k)
	if s.likelihood != nil {
		return s.likelihood.Predict(t, f, 0).Draw(rng)*scale + shift
	}
	y := (f+math.Sqrt(s.noise)*rng.NormFloat64())*scale + shift
	if s.laws == nil {
		return y
	}
	z := (y - p.Mean[k]) / math.Sqrt(p.Latent[k]+s.noise*scale*scale)
	rank := 0.5 * math.Erfc(-z/math.Sqrt2)
	return p.Distribution(i, t).Quantile(min(max(rank, 1e-300), 1-0x1p-53))
}
