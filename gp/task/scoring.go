package task

import (
	"math"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/train/metric"
)

const (
	scoredAtOnce = 8192 // values that are scored before they are added
	leastScored  = 256  // least number of values of a part
)

// scored is a value of a prediction beside its target.
type scored struct {
	metric.Row
	kind  likelihood.Kind // of the target
	right bool            // whether the most probable class is the target, for ordered classes
}

// scoring is the kernel.Job that scores the values of a prediction whose distributions are not Gaussian. Student's t takes
// some microseconds for each value.
type scoring struct {
	p         *Prediction
	y         []float64   // targets [N,T,W]
	w         int         // numbers of a target, W
	quantiles [][]float64 // see scoredQuantiles
	first     int         // number of the first value of out
	out       []scored
}

// values returns the scores of the values first … last−1, which the next call overwrites.
func (j *scoring) values(first, last int) []scored {
	n := last - first
	if j.first = first; cap(j.out) < n {
		j.out = make([]scored, n)
	}
	j.out = j.out[:n]
	kernel.Parallel(kernel.Parts(n, n, leastScored), j)
	return j.out
}

// Run implements kernel.Job.
func (j *scoring) Run(part, parts int) {
	n := len(j.out)
	for k := part * n / parts; k < (part+1)*n/parts; k++ {
		i := j.first + k
		j.out[k] = j.p.scored(i, j.y[i*j.w:(i+1)*j.w], j.quantiles)
	}
}

// scored returns the scores of value i for the target y [W].
func (p *Prediction) scored(i int, y []float64, quantiles [][]float64) scored {
	t := max(1, len(p.Targets))
	o, v := p.Outcome(i/t, i%t, y), scored{kind: likelihood.Number}
	if p.spread.likelihood != nil {
		v.kind = p.spread.likelihood.Kind()
	}
	v.Row = metric.Row{NLL: min(p.nll(i, y), maxNLL), Y: o.Upper, Mean: p.Mean[i], UpTo: o.CDF(o.Upper)}
	v.CRPS = crpsOf(o.Distribution, o.Lower, o.Upper, v.kind)
	if len(y) > 1 {
		v.Mean = centre(o.Distribution)
	}
	switch {
	case v.kind != likelihood.Number:
		v.Below = o.CDF(y[0] - 1)
	case o.Lower < o.Upper:
		v.Y, v.Below = math.NaN(), o.CDF(o.Lower)
	default:
		v.Below = v.UpTo
	}
	for k, level := range metric.QuantileLevels {
		switch {
		case quantiles == nil:
			v.Quantiles[k] = o.Quantile(level)
		case quantiles[k] == nil:
			v.Quantiles[k] = math.NaN()
		default:
			v.Quantiles[k] = quantiles[k][i]
		}
	}
	switch v.kind {
	case likelihood.Count:
		v.Deviance = metric.PoissonDeviance(v.Mean, v.Y)
	case likelihood.Ordered:
		v.right = mode(o.Distribution) == y[0]
	}
	return v
}

// centre returns the mean of a distribution, or the median where a prediction has that, see [Prediction.Medians].
func centre(d likelihood.Distribution) float64 {
	mean := d.Mean()
	if _, ok := d.(transformed); !ok {
		return mean
	}
	if at := d.CDF(mean); at > tail && at < 1-tail {
		return mean
	}
	return d.Quantile(0.5)
}
