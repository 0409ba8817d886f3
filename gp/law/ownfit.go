package law

import (
	"math"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
)

// ladder has the precisions of the prior of the coefficients of h(x), in the order of the fits. The largest are for rows in
// the order of time: h(x) of one time is worth little at another.
var ladder = [...]float64{30000, 10000, 3000, 1000, 300, 100, 30, 10, 3}

// scoringSteps is the number of steps of Fisher scoring for each precision.
const scoringSteps = 2

// ownFit fits h(x) under Student's t.
type ownFit struct {
	own       *OwnScale                                // features of h(x); its coefficients are set by scale
	values    []float64                                // residuals [n]
	fit       func(values []float64, out part) student // fits the law of values
	terms     []float64                                // terms of h(x) without their coefficients, with mean 0 over the rows [n,P]
	means     []float64                                // means that were subtracted from the terms [P]
	width     int                                      // number P of terms
	grams     [folds + 1][]float64                     // Σ of the products of terms over the rows of each part, and over all [P,P]
	densities [len(ladder)][]float64                   // cross-fitted log densities of the rows for each precision [n]
	logs      [len(ladder)][]float64                   // cross-fitted h of the rows for each precision [n]
}

// newOwnFit returns the fit of h(x) to residuals, or nil if no feature varies.
func newOwnFit(r Residuals, seed uint64, fit func(values []float64, out part) student) *ownFit {
	own := newOwnScale(r, seed)
	if own == nil {
		return nil
	}
	n, width := len(r.Z), len(own.Linear)+len(own.Output)
	f := &ownFit{own: own, values: r.Z, fit: fit, width: width, terms: make([]float64, n*width), means: make([]float64, width)}
	d := len(own.Linear)
	for i := range n {
		own.terms(f.row(i), r.Features[i*d:(i+1)*d])
		kernel.Axpy(1/float64(n), f.row(i), f.means)
	}
	for i := range n {
		kernel.Sub(f.row(i), f.row(i), f.means)
	}
	return f
}

// row returns the terms of row i.
func (f *ownFit) row(i int) []float64 { return f.terms[i*f.width : (i+1)*f.width] }

// cross fits h(x) for every precision of the ladder, without each part of the rows in turn, and returns the index of
// the precision with the highest log density.
func (f *ownFit) cross(parts [folds]part) (best int) {
	w := f.width
	all := make([]float64, w*w)
	for k, p := range parts {
		f.grams[k] = make([]float64, w*w)
		kernel.Syrk(true, w, p.to-p.from, 1, f.terms[p.from*w:p.to*w], w, 0, f.grams[k], w)
		kernel.Add(all, all, f.grams[k])
	}
	f.grams[folds] = all
	for l := range ladder {
		f.densities[l], f.logs[l] = make([]float64, len(f.values)), make([]float64, len(f.values))
	}
	for k, p := range parts {
		gram := make([]float64, w*w)
		kernel.Sub(gram, all, f.grams[k])
		f.path(gram, p, len(ladder), func(l int, s *scoring) {
			copy(f.logs[l][p.from:p.to], s.logs[p.from:p.to])
			s.law.logDensities(f.densities[l], s.scaled, s.logs, p)
		})
	}
	means := make([]float64, len(ladder))
	for l := range means {
		means[l] = kernel.Mean(f.densities[l])
	}
	return slices.Index(means, slices.Max(means))
}

// scale returns h(x) of all rows for a precision of the ladder.
func (f *ownFit) scale(best int) *OwnScale {
	var s *scoring
	f.path(f.grams[folds], part{}, best+1, func(_ int, now *scoring) { s = now })
	o, d := f.own, len(f.own.Linear)
	o.Linear, o.Output = s.coefficients[:d:d], s.coefficients[d:]
	o.Offset = kernel.Dot(f.means, s.coefficients)
	o.Lowest, o.Highest = slices.Min(s.logs), slices.Max(s.logs)
	return o
}

// path fits h(x) without the rows of out for the first precisions of the ladder, each from the fit before, and calls
// each after every fit. The matrix gram is the sum of the products of terms over the other rows.
func (f *ownFit) path(gram []float64, out part, precisions int, each func(l int, s *scoring)) {
	n := len(f.values)
	s := &scoring{ownFit: f, out: out, law: f.fit(f.values, out), scaled: slices.Clone(f.values),
		coefficients: make([]float64, f.width), step: make([]float64, f.width), logs: make([]float64, n), scores: make([]float64, n)}
	for l, precision := range ladder[:precisions] {
		s.factor(gram, precision)
		for range scoringSteps {
			s.advance(precision)
		}
		s.law = f.fit(s.scaled, out)
		each(l, s)
	}
}

// scoring is Fisher scoring for the coefficients β of h(x). The information about the log of the scale is the mean of
// the squared scores, the same for every row, so the matrix of the steps is a multiple of the gram matrix and the prior.
type scoring struct {
	*ownFit
	out          part      // rows that the fit leaves out
	law          student   // law of the scaled residuals
	coefficients []float64 // β [P]
	logs         []float64 // h(x) of each row [n]
	scaled       []float64 // residuals times e^{−h} [n]
	scores       []float64 // derivatives of the log densities by h [n]
	step         []float64 // derivative of the log posterior by β, and the step [P]
	lower        []float64 // Cholesky factor of the information [P,P]
}

// factor sets the Cholesky factor for the present law.
func (s *scoring) factor(gram []float64, precision float64) {
	w := s.width
	if s.lower == nil {
		s.lower = make([]float64, w*w)
	}
	s.law.scores(s.scores, s.scaled, s.out)
	kernel.Scale(s.lower, kernel.Dot(s.scores, s.scores)/float64(len(s.scores)-(s.out.to-s.out.from)), gram)
	for i := range w {
		s.lower[i*w+i] += precision
	}
	kernel.Cholesky(w, s.lower, w) // the precision makes the matrix positive definite
}

// advance takes a step. Residuals with equal magnitudes have no information about h by their scores, and steps without
// bounds.
func (s *scoring) advance(precision float64) {
	s.law.scores(s.scores, s.scaled, s.out)
	kernel.Scale(s.step, -precision, s.coefficients)
	kernel.AddRows(s.step, s.terms, s.width, s.scores)
	kernel.Trsm(true, true, 1, s.width, s.lower, s.width, s.step, s.width)
	kernel.Trsm(true, false, 1, s.width, s.lower, s.width, s.step, s.width)
	kernel.Add(s.coefficients, s.coefficients, s.step)
	kernel.RowDots(s.logs, s.terms, s.width, s.coefficients)
	for i, h := range s.logs {
		h = max(-largestLog, min(largestLog, h))
		s.logs[i] = h
		s.scaled[i] = s.values[i] * math.Exp(-h)
	}
}
