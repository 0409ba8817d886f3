package valla

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-valla/valla/internal/settings"
)

// ExpectedImprovement returns for each row of the prediction of one number how much the function is expected to exceed the best value so far,
// [N], in the units of the target: E max(f − best, 0) = (μ − best) Φ(z) + σ φ(z) with z = (μ − best)/σ (Jones, Schonlau and Welch 1998).
// The mean μ and the epistemic standard deviation σ are those of the function without the noise of its labels. The row with the largest
// number is the next one to try. With minimise the function should be small: E max(best − f, 0). The function is taken as Gaussian, for transformed targets as
// well. Classes and several targets are an error.
func ExpectedImprovement(p *Prediction, best float64, minimise bool) ([]float64, error) {
	if best-best != 0 {
		return nil, settings.Errorf("best value %g, expected a finite number", best)
	}
	if err := checkOneNumber(p); err != nil {
		return nil, err
	}
	out := make([]float64, p.N())
	for i, v := range p.Epistemic {
		gain := p.Mean[i] - best
		if minimise {
			gain = -gain
		}
		if v > 0 {
			z := gain / math.Sqrt(v)
			out[i] = math.Sqrt(v) * (z*distuv.UnitNormal.CDF(z) + distuv.UnitNormal.Prob(z))
		} else {
			out[i] = gain
		}
		out[i] = max(out[i], 0) // −0 by rounding far below the best value
	}
	return out, nil
}

// ConfidenceBound returns μ + beta σ for each row of the prediction of one number, [N], in the units of the target; the mean μ and the
// epistemic standard deviation σ are those of the function without the noise of its labels. With a beta of about 2 the row with the largest upper
// bound is the next one to try for a large value (Srinivas et al. 2010), and with −2 the row with the smallest lower bound for a small value.
// The errors are those of [ExpectedImprovement].
func ConfidenceBound(p *Prediction, beta float64) ([]float64, error) {
	if beta-beta != 0 {
		return nil, settings.Errorf("beta %g, expected a finite number", beta)
	}
	if err := checkOneNumber(p); err != nil {
		return nil, err
	}
	out := make([]float64, p.N())
	for i, v := range p.Epistemic {
		out[i] = p.Mean[i] + beta*math.Sqrt(v)
	}
	return out, nil
}

// checkOneNumber returns an error if the prediction is not of one number.
func checkOneNumber(p *Prediction) error {
	if p.Classes != nil || len(p.Targets) != 1 || len(p.Epistemic) != p.N() || len(p.Mean) != p.N() {
		return settings.Errorf("%d targets and %d classes, expected a regression of one number", len(p.Targets), len(p.Classes))
	}
	return nil
}
