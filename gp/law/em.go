package law

import (
	"cmp"
	"math"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
)

// partsTried has the numbers of shifted Gaussians that a fit tries. Every mixture has one more part, the guard: a
// Gaussian without shift, as wide as the largest residual, with the weight of one row. A value far outside the rows
// of the fit has a density because of the guard.
var partsTried = [...]int{2, 3, MaxParts - 1}

// The prior of the parts, in units of the scale of Student's t: each part counts priorRows rows with the standard
// deviation priorScale, no standard deviation is below leastScale, and a shift is a Gaussian with standard deviation
// priorShift. Without a prior of the shifts, a few outliers would shift all other rows by the constraint Σ wδ = 0.
const (
	priorRows  = 2.0
	priorScale = 0.3
	leastScale = 0.03
	priorShift = 1.0
)

// mostIterations limits the iterations of a fit.
const mostIterations = 100

// mixtureFit fits mixtures to values.
type mixtureFit struct {
	values []float64 // residuals divided by e^h [n]
	logs   []float64 // h of each row [n], or nil
	unit   float64   // scale of Student's t of the values
}

// cross returns the mixture of all values with the number of parts that has the highest cross-fitted log density, and
// this log density for each row.
func (f mixtureFit) cross(parts [folds]part) (best mixture, densities []float64) {
	count, highest := 0, math.Inf(-1)
	for _, try := range partsTried {
		tried := make([]float64, len(f.values))
		for _, p := range parts {
			f.logDensities(tried, f.fit(p, try), p)
		}
		if mean := kernel.Mean(tried); mean > highest {
			count, highest, densities = try, mean, tried
		}
	}
	return f.fit(part{}, count), densities
}

// fit returns a mixture of the values outside a part, with a number of shifted parts.
func (f mixtureFit) fit(out part, count int) mixture {
	b := binned(f.values, out, f.unit, mixtureBin)
	m := b.start(count)
	b.iterate(m, mostIterations)
	for k := range m.weights {
		m.shifts[k] *= f.unit
		m.scales[k] *= f.unit
	}
	return m
}

// logDensities sets dst to the log densities of the rows of p under a mixture.
func (f mixtureFit) logDensities(dst []float64, m mixture, p part) {
	for i := p.from; i < p.to; i++ {
		dst[i] = m.logDensity(f.values[i])
		if f.logs != nil {
			dst[i] -= f.logs[i]
		}
	}
}

// start returns a mixture with parts of equal numbers of values, in the order of the distance from −½, and with the
// guard. This order has narrow parts and wide parts, and it is not symmetric.
func (b *bins) start(count int) mixture {
	distance := func(x bin) float64 { return math.Abs(x.sum/x.count + 0.5) }
	order := slices.Clone(b.bins)
	slices.SortFunc(order, func(x, y bin) int { return cmp.Compare(distance(x), distance(y)) })
	sums, passed := make([]bin, count), 0.0
	for _, x := range order {
		sums[min(count-1, int(passed/b.rows*float64(count)))].add(x)
		passed += x.count
	}
	m := mixture{make([]float64, count+1), make([]float64, count+1), slices.Repeat([]float64{1}, count+1)}
	m.weights[count], m.scales[count] = 1/(b.rows+1), b.largest
	b.maximise(m, sums)
	return m
}
