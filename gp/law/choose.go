package law

import (
	"math"

	"github.com/go-valla/valla/internal/kernel"
)

// choice is the state of a fit: the law so far, and what it says about rows that it was not fitted to.
type choice struct {
	options   Options     // settings of the fit
	residuals Residuals   // all residuals
	parts     [folds]part // parts of the cross-fit
	scaled    []float64   // z·e^{−h}, where h is from a fit to other rows [n]
	squares   []float64   // squares of scaled [n]
	logs      []float64   // h of each row, from a fit to other rows [n]; nil if the law has no own scale
	densities []float64   // cross-fitted log density of each row under the law [n]
	law       Law         // law so far
	report    Report      // record of the trials
}

// newChoice returns the choice of the Gaussian.
func newChoice(r Residuals, o Options) *choice {
	n := len(r.Z)
	c := &choice{options: o, residuals: r, parts: foldsOf(n), law: Normal(), report: Report{Rows: n}}
	c.rescale(nil)
	c.densities = make([]float64, n)
	c.law.student().logDensities(c.densities, c.squares, nil, part{0, n})
	first := compare(Gaussian, c.densities, nil)
	first.Taken = true
	c.report.Tried = append(c.report.Tried, first)
	return c
}

// rescale divides the residuals by e^h. A nil h is 0.
func (c *choice) rescale(h []float64) {
	c.logs = h
	c.scaled = make([]float64, len(c.residuals.Z))
	c.squares = make([]float64, len(c.scaled))
	for i, z := range c.residuals.Z {
		if h != nil {
			z *= math.Exp(-h[i])
		}
		c.scaled[i], c.squares[i] = z, z*z
	}
}

// tryStudent replaces the Gaussian by Student's t unless its log density is lower by more than a standard error. With
// few rows the t is close to the Gaussian, so a wrong t costs less than a wrong Gaussian.
func (c *choice) tryStudent() {
	if c.options.Family == Gaussian {
		return
	}
	densities := c.crossStudent(spreadRows)
	try := compare(StudentT, densities, c.densities)
	try.Taken = c.options.Family == StudentT || try.significant() || !c.options.Surely && try.Gain >= -try.GainError
	if try.Taken {
		c.law, c.densities = c.fitted(), densities
	}
	c.report.Tried = append(c.report.Tried, try)
}

// crossStudent returns the cross-fitted log densities of the rows under Student's t. The prior of its standard
// deviation is worth a number of rows.
func (c *choice) crossStudent(rows float64) []float64 {
	densities := make([]float64, len(c.squares))
	for _, p := range c.parts {
		e := estimate{squares: c.squares, out: p, rows: rows}
		e.fit().logDensities(densities, c.squares, c.logs, p)
	}
	return densities
}

// fitted returns the t of all scaled residuals.
func (c *choice) fitted() Law {
	s := fitStudent(c.squares, part{})
	return Law{Family: StudentT, DoF: s.dof, Scale: s.scale}
}

// tryOwn gives the law an own scale if the scale raises the log density.
func (c *choice) tryOwn() {
	o := c.options
	if o.Own == OwnNever || o.Family == Gaussian || len(c.scaled) < leastRich || len(c.residuals.Features) == 0 {
		return
	}
	f := newOwnFit(c.residuals, c.squares, o.Seed)
	if f == nil {
		return
	}
	best := f.cross(c.parts)
	try := compare(StudentT+" with own scale", f.densities[best], c.densities)
	try.Taken = o.Own == OwnAlways || try.significant()
	if try.Taken {
		c.densities = f.densities[best]
		c.rescale(f.logs[best])
		c.law = c.fitted()
		c.law.Own = f.scale(best)
	}
	c.report.Tried = append(c.report.Tried, try)
}

// tryMixture replaces the law by a mixture if the mixture raises the log density. The mixture must also be better than
// a t with a free standard deviation: a shape is taken, and not a standard deviation alone. The unit of the mixture is
// the scale of Student's t.
func (c *choice) tryMixture() {
	wanted := c.options.Family == Mixture
	if !wanted && (c.options.Family != "" || len(c.scaled) < leastRich) {
		return
	}
	f := mixtureFit{values: c.scaled, logs: c.logs, unit: fitStudent(c.squares, part{}).scale}
	parts, densities := f.cross(c.parts)
	name := Mixture
	if c.law.Own != nil {
		name += " with own scale"
	}
	try := compare(name, densities, c.densities)
	free := compare(name, densities, c.crossStudent(0))
	try.Taken = wanted || try.significant() && free.significant()
	if try.Taken {
		c.law = Law{Family: Mixture, Weights: parts.weights, Shifts: parts.shifts, Scales: parts.scales, Own: c.law.Own}
		c.densities = densities
	}
	c.report.Tried = append(c.report.Tried, try)
}

// moments returns the mean of v and its standard error.
func moments(v []float64) (mean, err float64) { return kernel.Mean(v), kernel.StandardError(v) }
