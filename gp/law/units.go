package law

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
)

// mostUnits is the largest number of units of h(x). There is one unit for every rowsPerUnit rows.
const (
	mostUnits   = 64
	rowsPerUnit = 16
)

// newOwnScale returns the centres and scales of the features and the units, without coefficients. It returns nil if no
// feature varies.
func newOwnScale(r Residuals, seed uint64) *OwnScale {
	n := len(r.Z)
	d := len(r.Features) / n
	o := &OwnScale{Mean: make([]float64, d), Inverse: make([]float64, d), Linear: make([]float64, d)}
	column, varying := make([]float64, n), []int(nil)
	for j := range d {
		for i := range column {
			column[i] = r.Features[i*d+j]
		}
		if o.Mean[j], o.Inverse[j] = centre(column); o.Inverse[j] > 0 {
			varying = append(varying, j)
		}
	}
	if len(varying) == 0 {
		return nil
	}
	o.draw(min(mostUnits, n/rowsPerUnit), varying, rand.New(rand.NewPCG(seed, 2)))
	return o
}

// draw draws units that read features among those given.
func (o *OwnScale) draw(units int, features []int, rng *rand.Rand) {
	o.Output = make([]float64, units)
	for range units {
		o.Bias = append(o.Bias, hundredths(1.5*rng.NormFloat64()))
		used := 1 + rng.IntN(inputsPerUnit)
		for i := range inputsPerUnit {
			slope := 0.0
			if i < used {
				slope = hundredths(rng.NormFloat64())
			}
			o.Inputs = append(o.Inputs, features[rng.IntN(len(features))])
			o.Slopes = append(o.Slopes, slope)
		}
	}
}

// hundredths rounds v to two digits, which keeps files small.
func hundredths(v float64) float64 { return math.Round(100*v) / 100 }

// centre returns the mean and the inverse of the standard deviation of the values, which it sorts. Values outside the
// central 98 % count as the ends of the central 98 %, unless only these values differ. The inverse is 0 if no value
// differs.
func centre(values []float64) (mean, inverse float64) {
	slices.Sort(values)
	n := len(values)
	lo, hi := values[n/100], values[n-1-n/100]
	if lo == hi {
		lo, hi = values[0], values[n-1]
	}
	for i, v := range values {
		values[i] = max(lo, min(hi, v))
	}
	mean = kernel.Mean(values)
	deviation := kernel.StandardError(values) * math.Sqrt(float64(n))
	if !(deviation > 1e-12*math.Abs(mean)) || !positive(1/deviation) {
		return mean, 0
	}
	return mean, 1 / deviation
}
