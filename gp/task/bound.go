package task

import (
	"math"
	"slices"
)

// Bound returns the quantiles of the targets for a probability 0 < level < 1, [N,T]. With Conformal they are the
// bounds of intervals whose coverage is guaranteed, and their middle for the level 0.5: the mean, for transformed targets
// T⁻¹ of the mean of T(target).
func (p *Prediction) Bound(level float64) ([]float64, error) {
	switch {
	case p.Conformal == nil:
		return p.Quantiles(level), nil
	case level == 0.5 && p.spread.under != nil:
		return p.spread.inverted(slices.Clone(p.spread.under.Mean), 0), nil
	case level == 0.5:
		return slices.Clone(p.Mean), nil
	}
	lower, upper, err := p.Interval(math.Abs(2*level - 1))
	if level < 0.5 {
		return lower, err
	}
	return upper, err
}
