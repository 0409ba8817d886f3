package valla

import (
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/internal/kernel"
)

// trialSums are sums over the examples of a validation, for each trial.
type trialSums struct {
	v           *validation
	values      [][]float64   // negative log predictive densities at each temperature
	robust      [][]gp.Robust // densities that choose σ₀, where the choice is robust
	left, prior []float64     // variances, and the prior's variances
}

// newSums returns sums of trials before the first example.
func (v *validation) newSums(trials int) trialSums {
	s := trialSums{v: v, left: make([]float64, trials), prior: make([]float64, trials)}
	for range trials {
		s.values = append(s.values, make([]float64, len(v.temperatures)))
		s.robust = append(s.robust, make([]gp.Robust, len(v.temperatures)))
	}
	return s
}

// add adds examples with targets y, means and variances of the latent function to the sums of a trial with parameters of the
// likelihood. anyway is what [validation.anyway] returns.
func (s *trialSums) add(trial int, params, y, mean, variance, weights, anyway []float64) error {
	for t, temperature := range s.v.temperatures {
		f, q := mean, variance
		if temperature != 1 {
			f, q = scaled(1/temperature, mean), scaled(1/(temperature*temperature), variance)
		}
		if err := s.v.term.Run(params, y, f, q, weights); err != nil {
			return err
		}
		s.values[trial][t] -= s.v.term.Sum()
		if anyway != nil {
			s.robust[trial][t].Add(s.v.term.Terms(len(weights)), anyway, weights)
		}
	}
	return nil
}

// scaled returns values times a factor.
func scaled(by float64, values []float64) []float64 {
	out := make([]float64, len(values))
	kernel.Scale(out, by, values)
	return out
}

// best returns the sums of each trial at its best temperature, with the cost of this temperature, and the robust ones, which are
// the same where the choice is not robust.
func (s *trialSums) best() (values, robust []float64) {
	for i, plain := range s.values {
		chosen := slices.Clone(plain)
		for t, temperature := range s.v.temperatures {
			if s.v.robust() {
				chosen[t] = -s.robust[i][t].Mean(s.v.held)
			}
			cost := calibrate.TemperatureCost(temperature) / float64(s.v.held)
			plain[t] += cost
			chosen[t] += cost
		}
		at := kernel.Least(chosen)
		values, robust = append(values, plain[at]), append(robust, chosen[at])
	}
	return values, robust
}
