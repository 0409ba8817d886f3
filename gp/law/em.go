package law

import (
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

// The limits of the iterations of a fit from a start, and of a fit without a part of the rows from the fit to all rows.
const (
	mostIterations  = 100
	crossIterations = 40
)

// mixtureFit fits mixtures to values.
type mixtureFit struct {
	values []float64 // residuals divided by e^h [n]
	logs   []float64 // h of each row [n], or nil
	unit   float64   // scale of Student's t of the values
}

// cross returns the mixture with the highest cross-fitted log density, and its log density for each row.
func (f mixtureFit) cross(parts [folds]part) (best mixture, densities []float64) {
	all := f.bins(part{})
	highest := math.Inf(-1)
	var left [folds]*bins
	for k, p := range parts {
		left[k] = f.bins(p)
	}
	for _, count := range partsTried {
		whole := all.fit(count)
		tried := make([]float64, len(f.values))
		for k, p := range parts {
			m := left[k].from(whole)
			left[k].iterate(m, crossIterations)
			f.logDensities(tried, *m, p)
		}
		if mean := kernel.Mean(tried); mean > highest {
			highest, best, densities = mean, *whole, tried
		}
	}
	for k := range best.weights {
		best.shifts[k] *= f.unit
		best.scales[k] *= f.unit
	}
	return best, densities
}

// logDensities sets dst to the log densities of the rows of p under a mixture m of values divided by the unit.
func (f mixtureFit) logDensities(dst []float64, m mixture, p part) {
	for i := p.from; i < p.to; i++ {
		dst[i] = m.logDensity(f.values[i]/f.unit) - math.Log(f.unit)
		if f.logs != nil {
			dst[i] -= f.logs[i]
		}
	}
}

// fit returns the mixture with a number of shifted parts that has the highest likelihood, from two starts: parts
// with equal numbers of neighbouring values, and parts with equal numbers of values of similar size.
func (b *bins) fit(count int) *mixture {
	shifted := b.start(count, func(x bin) float64 { return x.mean() })
	wide := b.start(count, func(x bin) float64 { return math.Abs(x.mean()) })
	if b.iterate(shifted, mostIterations) > b.iterate(wide, mostIterations) {
		return shifted
	}
	return wide
}

// start returns a mixture with parts of equal numbers of values, in the order of key.
func (b *bins) start(count int, key func(bin) float64) *mixture {
	order := slices.Clone(b.bins)
	slices.SortFunc(order, func(x, y bin) int {
		switch {
		case key(x) < key(y):
			return -1
		case key(x) > key(y):
			return 1
		}
		return 0
	})
	sums := make([]bin, count)
	passed := 0.0
	for _, x := range order {
		sums[min(count-1, int(passed/b.rows*float64(count)))].add(x)
		passed += x.count
	}
	m := b.guarded(count)
	b.maximise(m, sums)
	return m
}

// guarded returns a mixture whose last part is the guard and whose other parts are alike.
func (b *bins) guarded(count int) *mixture {
	m := &mixture{make([]float64, count+1), make([]float64, count+1), make([]float64, count+1)}
	for k := range count {
		m.weights[k], m.scales[k] = b.share()/float64(count), 1
	}
	m.weights[count], m.scales[count] = 1-b.share(), b.largest
	return m
}

// from returns a copy of a mixture with the guard of these bins.
func (b *bins) from(whole *mixture) *mixture {
	m := b.guarded(len(whole.weights) - 1)
	last := len(m.weights) - 1
	for k := range last {
		m.weights[k] = whole.weights[k] / (1 - whole.weights[last]) * b.share()
	}
	copy(m.shifts, whole.shifts)
	copy(m.scales[:last], whole.scales)
	return m
}

// share returns the weight of the parts without the guard.
func (b *bins) share() float64 { return b.rows / (b.rows + 1) }
