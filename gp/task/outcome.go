package task

import (
	"slices"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/train/metric"
)

// Outcome returns what the target y [W] says about target t of row i, in the units of the data: the Scale is 1.
func (p *Prediction) Outcome(i, t int, y []float64) likelihood.Outcome {
	k, s := i*max(1, len(p.Targets))+t, &p.spread
	if len(y) == 1 {
		return likelihood.Outcome{Distribution: p.Distribution(i, t), Scale: 1, Lower: y[0], Upper: y[0]}
	}
	if s.under != nil {
		return p.transformedOutcome(i, t, y)
	}
	shift, scale := s.units(k)
	scaled := slices.Clone(y)
	likelihood.Rescale(s.likelihood, scaled, func(v float64) float64 { return (v - shift) / scale })
	o := likelihood.OutcomeOf(s.likelihood, t, scaled, s.mean[k], s.variance[k])
	if o.Lower == o.Upper { // with all digits
		o.Lower, o.Upper = y[0], y[0]
	} else {
		o.Lower, o.Upper = o.Lower*scale+shift, o.Upper*scale+shift
	}
	o.Distribution, o.Scale = inUnits{o.Distribution, shift, scale * o.Scale}, 1
	return o
}

// transformedOutcome is Outcome of transformed targets of several numbers. Bounds that are open stay open.
func (p *Prediction) transformedOutcome(i, t int, y []float64) likelihood.Outcome {
	under, by, u := p.spread.under, p.spread.of.Transforms[t], slices.Clone(y)
	likelihood.Rescale(under.spread.likelihood, u, by.Apply)
	o := under.Outcome(i, t, u)
	o.Distribution = transformed{o.Distribution, by}
	if o.Lower == o.Upper { // with all digits
		o.Lower, o.Upper = y[0], y[0]
		return o
	}
	for _, v := range []*float64{&o.Lower, &o.Upper} {
		if kernel.Finite(*v) {
			*v = by.Invert(*v)
		}
	}
	return o
}

// Covers reports whether the prediction has intervals or sets that can hold their level: a classification needs a
// conformal calibration, and intervals of labels are no or yes or both.
func (p *Prediction) Covers() bool {
	if p.Classes != nil {
		return p.Conformal != nil
	}
	return p.spread.likelihood == nil || p.spread.likelihood.Kind() != likelihood.Binary
}

// Whole reports whether the targets are whole numbers: counts, labels or ordered classes.
func (p *Prediction) Whole() bool {
	return p.spread.likelihood != nil && p.spread.likelihood.Kind() != likelihood.Number
}

// Covered returns the sum of [Prediction.CoveredRows], and the mean size of the sets of classes. In regression the size is 0.
func (p *Prediction) Covered(y []float64, level float64) (inside, size float64, err error) {
	if p.Classes == nil {
		rows, err := p.CoveredRows(y, level)
		return kernel.Sum(rows), 0, err
	}
	sets, err := p.Sets(level)
	for _, set := range sets {
		size += float64(len(set)) / float64(len(sets))
	}
	return kernel.Sum(p.coveredBySets(sets, y)), size, err
}

// CoveredRows returns how many of the targets y of each row lie in the intervals of a level, or in the sets of classes [N].
// y is [N,T·W] in regression and [N] in classification. A target of which bounds are known counts by the probability, given
// the bounds, that it lies in the interval.
func (p *Prediction) CoveredRows(y []float64, level float64) ([]float64, error) {
	if p.Classes != nil {
		sets, err := p.Sets(level)
		return p.coveredBySets(sets, y), err
	}
	lower, upper, err := p.IntervalAt(y, level)
	if err != nil {
		return nil, err
	}
	t, w, out := max(1, len(p.Targets)), len(y)/max(1, len(p.Mean)), make([]float64, p.N())
	for i := range p.Mean {
		if w > 1 {
			if o := p.Outcome(i/t, i%t, y[i*w:(i+1)*w]); o.Lower < o.Upper {
				out[i/t] += metric.Row{Below: o.CDF(o.Lower), UpTo: o.CDF(o.Upper)}.Within(0.5-level/2, 0.5+level/2)
				continue
			}
		}
		if v := y[i*w]; lower[i] <= v && v <= upper[i] {
			out[i/t]++
		}
	}
	return out, nil
}

// coveredBySets is CoveredRows in classification.
func (p *Prediction) coveredBySets(sets [][]int, y []float64) []float64 {
	out := make([]float64, len(sets))
	for i, set := range sets {
		if slices.ContainsFunc(set, func(k int) bool { return p.Classes[k] == y[i] }) {
			out[i] = 1
		}
	}
	return out
}

// IntervalAt returns the bounds of [Prediction.Interval], [N,T] each, for targets y [N,T·W], of which the exposures and
// the scales of the noise count.
func (p *Prediction) IntervalAt(y []float64, level float64) (lower, upper []float64, err error) {
	lower, upper, err = p.Interval(level)
	if err != nil || len(y) == len(p.Mean) {
		return lower, upper, err
	}
	t, w := max(1, len(p.Targets)), len(y)/len(p.Mean)
	for i := range p.Mean {
		o := p.Outcome(i/t, i%t, y[i*w:(i+1)*w])
		lower[i], upper[i] = o.Quantile(0.5-level/2), o.Quantile(0.5+level/2)
	}
	return lower, upper, nil
}
