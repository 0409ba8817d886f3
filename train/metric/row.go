package metric

import "math"

// Row is a prediction of one number and its target, of which the scores of all distributions follow. A number that is
// NaN makes the scores NaN that need it.
type Row struct {
	NLL  float64 // negative log density of the target, in nats
	Y    float64 // target; NaN where only bounds of it are known
	Mean float64 // mean of the distribution, in the units of the target
	CRPS float64 // continuous ranked probability score, in the units of the target
	// Deviance is PoissonDeviance, for counts.
	Deviance float64

	// Below and UpTo are the probabilities of values below the target, and of values up to it. They are equal for
	// a number that was seen, and differ for counts, ordered classes and bounds.
	Below, UpTo float64

	// Quantiles of the distribution at QuantileLevels, in the units of the target.
	Quantiles [len(QuantileLevels)]float64
}

// QuantileLevels are the levels of the quantiles that [Row] has: the bounds of the central intervals of
// IntervalLevels and the median, in ascending order.
var QuantileLevels = [7]float64{0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975}

// IntervalLevels are the probabilities of the central intervals whose coverage and interval scores [Regression] has.
// The interval i is bounded by the quantiles 2−i and 4+i.
var IntervalLevels = [3]float64{0.5, 0.9, 0.95}

// PITBins is the number of bins of the PIT histogram.
const PITBins = 10

// Within returns which share of the probabilities from Below to UpTo lies between two probabilities. This share is
// 0 or 1 where Below and UpTo are equal, and then a bound does not lie within.
func (r Row) Within(from, to float64) float64 {
	if r.UpTo > r.Below {
		return max(0, min(r.UpTo, to)-max(r.Below, from)) / (r.UpTo - r.Below)
	}
	if r.UpTo > from && r.UpTo < to {
		return 1
	}
	return 0
}

// pit adds the row to the PIT histogram. A row whose PIT is a range is spread evenly over it (Czado, Gneiting and
// Held, Predictive Model Assessment for Count Data, Biometrics 65, 2009, equation 1).
func (r Row) pit(histogram *[PITBins]float64) {
	if !(r.UpTo > r.Below) {
		if r.UpTo == r.UpTo { // not NaN
			histogram[min(int(r.UpTo*PITBins), PITBins-1)]++
		}
		return
	}
	for b := range histogram {
		histogram[b] += r.Within(float64(b)/PITBins, float64(b+1)/PITBins)
	}
}

// Pinball returns the pinball loss of the quantile q of a level at y: (y − q)·level above the quantile, and
// (q − y)·(1 − level) below it. Its mean is smallest for the true quantile.
func Pinball(level, q, y float64) float64 {
	return (y - q) * (level - step(y < q))
}

// IntervalScore returns the score of a central interval of probability level,
//
//	(u − l) + 2/α [(l − y)⁺ + (y − u)⁺],  α = 1 − level,
//
// in the units of y: the width, and a penalty for targets outside (Gneiting and Raftery 2007, equation 43).
func IntervalScore(level, lower, upper, y float64) float64 {
	return upper - lower + 2/(1-level)*(max(0, lower-y)+max(0, y-upper))
}

// held returns whether the target lies in the central interval i; for a target known by bounds it is the probability,
// given the bounds, that the target lies in the interval.
func (r Row) held(i int) float64 {
	if math.IsNaN(r.Y) {
		return r.Within(0.5-IntervalLevels[i]/2, 0.5+IntervalLevels[i]/2)
	}
	lower, upper := r.Quantiles[2-i], r.Quantiles[4+i]
	if math.IsNaN(lower + upper) {
		return math.NaN()
	}
	return step(lower <= r.Y && r.Y <= upper)
}

// PoissonDeviance returns 2[y log(y/mean) − (y − mean)], twice the log-likelihood that a Poisson distribution with the
// mean lacks at the count y.
func PoissonDeviance(mean, y float64) float64 {
	d := mean - y
	if y > 0 && !math.IsInf(d, 1) { // ∞ − ∞ would be NaN
		d += y * math.Log(y/mean)
	}
	return 2 * d
}

func step(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
