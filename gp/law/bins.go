package law

import (
	"math"
	"slices"
)

// The widths of a bin at 0, in units of the scale of Student's t.
const (
	mixtureBin = 0.02
	pieceBin   = 0.004 // a piece of a skewed t may be narrow
)

// bin has sums over values that are close together, or over a part of a mixture.
type bin struct {
	count, sum, squares float64 // number of values, sum of the values, sum of their squares
}

// add adds the sums of another bin.
func (b *bin) add(x bin) {
	b.count, b.sum, b.squares = b.count+x.count, b.sum+x.sum, b.squares+x.squares
}

// bins are all values of a fit.
type bins struct {
	bins    []bin   // in the order of the values
	rows    float64 // number of values
	largest float64 // largest magnitude of a value, and at least 3
}

// binned returns the values outside a part, divided by the unit, in bins of a width at 0. The width grows with the
// distance from 0.
func binned(all []float64, out part, unit, width float64) *bins {
	values := make([]float64, 0, len(all))
	for i, v := range all {
		if !out.has(i) {
			values = append(values, v/unit)
		}
	}
	slices.Sort(values)
	b := &bins{rows: float64(len(values)), largest: max(3, -values[0], values[len(values)-1])}
	end := math.Inf(-1)
	for _, v := range values {
		if v > end {
			b.bins = append(b.bins, bin{})
			end = v + width*(1+math.Abs(v))
		}
		b.bins[len(b.bins)-1].add(bin{1, v, v * v})
	}
	return b
}

// iterate improves a mixture by steps of expectation and maximisation, and returns the log likelihood before the last
// step.
func (b *bins) iterate(m mixture, iterations int) (likelihood float64) {
	sums := make([]bin, len(m.weights)-1)
	before := math.Inf(-1)
	for range iterations {
		likelihood = b.expect(m, sums)
		b.maximise(m, sums)
		if math.Abs(likelihood-before) < 1e-6*b.rows {
			break
		}
		before = likelihood
	}
	return likelihood
}

// expect sets sums to the values that belong to each part, without the guard, and returns the log likelihood.
func (b *bins) expect(m mixture, sums []bin) (likelihood float64) {
	var heights, inverses, densities [MaxParts]float64
	for k, s := range m.scales {
		heights[k], inverses[k] = m.weights[k]/(s*math.Sqrt(2*math.Pi)), 1/s
	}
	clear(sums)
	for _, x := range b.bins {
		mean, total := x.sum/x.count, 0.0
		for k, shift := range m.shifts {
			u := (mean - shift) * inverses[k]
			densities[k] = heights[k] * math.Exp(-0.5*u*u)
			total += densities[k] // above 0 because of the guard
		}
		likelihood += x.count * math.Log(total)
		for k := range sums {
			r := densities[k] / total
			sums[k].add(bin{r * x.count, r * x.sum, r * x.squares})
		}
	}
	return likelihood
}

// maximise sets the parts, without the guard, to the sums over their values. The shifts have the highest posterior
// density under the constraint Σ wδ = 0, given the weights and the scales before.
func (b *bins) maximise(m mixture, sums []bin) {
	share := b.rows / (b.rows + 1)
	total, mean, variance := 0.0, 0.0, 0.0
	for _, s := range sums {
		total += s.count + priorRows
	}
	for k, s := range sums {
		w := share * (s.count + priorRows) / total
		square := m.scales[k] * m.scales[k]
		precision := s.count/square + 1/(priorShift*priorShift)
		m.weights[k], m.shifts[k] = w, s.sum/square/precision
		mean += w * m.shifts[k]
		variance += w * w / precision
	}
	for k, s := range sums {
		precision := s.count/(m.scales[k]*m.scales[k]) + 1/(priorShift*priorShift)
		m.shifts[k] -= mean / variance * m.weights[k] / precision // the multiplier of the constraint is mean/variance
		d := m.shifts[k]
		spread := s.squares - 2*d*s.sum + s.count*d*d + priorRows*priorScale*priorScale
		m.scales[k] = max(leastScale, math.Sqrt(max(0, spread/(s.count+priorRows))))
	}
}
