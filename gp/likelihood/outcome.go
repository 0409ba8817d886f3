package likelihood

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Outcome is what a target of W numbers says about the number that is predicted: the first one, such as a count with
// an exposure, or a number of which bounds are known.
type Outcome struct {
	Distribution         // predictive distribution given the other numbers of the target, divided by Scale
	Scale        float64 // 1, unless the target tells the scale of its noise
	Lower, Upper float64 // bounds of the number, infinite where they are open; equal where the number was seen
}

// outcomer is implemented by a Scalar of width 2.
type outcomer interface {
	// outcome returns the Outcome of the target y [W] for f ~ N(mean, q).
	outcome(y []float64, mean, q float64) Outcome
}

// OutcomeOf returns what the target y [W] says about the number whose latent value is N(mean, variance).
func OutcomeOf(l Likelihood, c int, y []float64, mean, variance float64) Outcome {
	if s, ok := Of(l); ok && len(y) > 1 {
		if o, ok := s.(outcomer); ok {
			return o.outcome(y, mean, variance)
		}
	}
	return Outcome{l.Predict(c, mean, variance), 1, y[0], y[0]}
}

func (m count) outcome(y []float64, mean, q float64) Outcome {
	return Outcome{m.Predict(mean+logExposure(y), q), 1, y[0], y[0]}
}

func (m censored) outcome(y []float64, mean, q float64) Outcome {
	lower, upper := boundsOf(y)
	return Outcome{m.Predict(mean, q), 1, lower, upper}
}

func (m heteroscedastic) outcome(y []float64, mean, q float64) Outcome {
	k, h := scaleOf(y)
	return Outcome{predict(m.noise, mean*k, q*k*k), math.Exp(h), y[0], y[0]}
}

// CRPSBetween returns the [CRPS] at a number of which bounds are known, the integral over all that the bounds exclude,
//
//	∫_{−∞}^lower F(t)² dt + ∫_upper^∞ (1 − F(t))² dt.
//
// With one open bound it is the survival CRPS of Avati et al. (Countdown Regression, 2019). Bounds that differ need
// a [Normal]; with another distribution the result is NaN.
func CRPSBetween(d Distribution, lower, upper float64, kind Kind) float64 {
	if lower == upper {
		return CRPS(d, lower, kind)
	}
	n, ok := d.(Normal)
	if !ok {
		return math.NaN()
	}
	return n.Sigma * (squaredCDF((lower-n.Mu)/n.Sigma) + squaredCDF((n.Mu-upper)/n.Sigma))
}

// squaredCDF is ∫_{−∞}^z Φ(t)² dt = zΦ(z)² + 2φ(z)Φ(z) − Φ(√2 z)/√π.
func squaredCDF(z float64) float64 {
	if math.IsInf(z, -1) {
		return 0
	}
	unit := distuv.UnitNormal
	return z*unit.CDF(z)*unit.CDF(z) + 2*unit.Prob(z)*unit.CDF(z) - unit.CDF(math.Sqrt2*z)/math.Sqrt(math.Pi)
}
