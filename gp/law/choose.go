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
	logs      []float64   // h of each row, from a fit to other rows [n]; nil if the law has no own scale
	densities []float64   // cross-fitted log density of each row under the law [n]
	law       Law         // law so far
	report    Report      // record of the trials
}

// newChoice returns the choice of the Gaussian.
func newChoice(r Residuals, o Options) *choice {
	n := len(r.Z)
	c := &choice{options: o, residuals: r, parts: foldsOf(n), law: Normal(), report: Report{Rows: n}}
	if drift := driftOf(r.Z, c.parts); drift > mostDrift {
		c.report.Drift = drift
	}
	c.rescale(nil)
	c.densities = make([]float64, n)
	c.law.student().logDensities(c.densities, c.scaled, nil, part{0, n})
	first := compare(Gaussian, c.densities, nil)
	first.Taken = true
	c.report.Tried = append(c.report.Tried, first)
	return c
}

// rescale divides the residuals by e^h. A nil h is 0.
func (c *choice) rescale(h []float64) {
	c.logs = h
	c.scaled = make([]float64, len(c.residuals.Z))
	for i, z := range c.residuals.Z {
		if h != nil {
			z *= math.Exp(-h[i])
		}
		c.scaled[i] = z
	}
}

// tryStudent replaces the Gaussian by Student's t, unless the t has to be sure.
func (c *choice) tryStudent() {
	if c.options.Family == Gaussian {
		return
	}
	densities := c.crossStudent(spreadRows)
	try := compare(StudentT, densities, c.densities)
	if try.Taken = !c.options.Surely || c.options.Family == StudentT || try.significant(); try.Taken {
		c.law, c.densities = c.fitted(), densities
	}
	c.report.Tried = append(c.report.Tried, try)
}

// symmetric reports whether the law is not to be skewed, see [Report].
func (c *choice) symmetric() bool { return c.options.Symmetric || c.report.Drift > 0 }

// fit returns the t of values without the rows of out. The prior of its standard deviation is worth a number of rows.
// Where rows depend on their neighbours, every row counts less, so the prior counts more.
func (c *choice) fit(values []float64, out part, rows float64) student {
	return fitStudent(values, out, rows*max(1, c.report.Drift), c.symmetric())
}

// crossStudent returns the cross-fitted log densities of the rows under Student's t. The prior of its standard
// deviation is worth a number of rows.
func (c *choice) crossStudent(rows float64) []float64 {
	densities := make([]float64, len(c.scaled))
	for _, p := range c.parts {
		c.fit(c.scaled, p, rows).logDensities(densities, c.scaled, c.logs, p)
	}
	return densities
}

// fitted returns the t of all scaled residuals.
func (c *choice) fitted() Law {
	s := c.fit(c.scaled, part{}, spreadRows)
	return Law{Family: StudentT, DoF: s.dof, Scale: s.scale, Skew: s.skew}
}

// try takes the t with the log scales h of the rows, from fits to other rows, and with the own scale that own returns, if
// it raises the log density by more than a standard error, or if it is wanted. Few rows have to show more, because their
// standard errors are uncertain.
func (c *choice) try(name string, h []float64, wanted bool, own func() *OwnScale) {
	with := *c
	with.rescale(h)
	with.densities = with.crossStudent(spreadRows)
	try, least := compare(name, with.densities, c.densities), 1+45/float64(len(h))
	if c.options.Surely {
		least = max(least, 2)
	}
	if try.Taken = wanted || try.Gain > least*try.GainError; try.Taken {
		with.law = with.fitted()
		with.law.Own = own()
		*c = with
	}
	c.report.Tried = append(c.report.Tried, try)
}

// tryOwn gives the law an own scale if the scale raises the log density.
func (c *choice) tryOwn() {
	o := c.options
	if o.Own == OwnNever || o.Family == Gaussian || len(c.scaled) < leastRich || len(c.residuals.Features) == 0 {
		return
	}
	f := newOwnFit(c.residuals, o.Seed, func(values []float64, out part) student { return c.fit(values, out, spreadRows) })
	if f == nil {
		return
	}
	best := f.cross(c.parts)
	c.try(StudentT+" with own scale", f.logs[best], o.Own == OwnAlways, func() *OwnScale { return f.scale(best) })
}

// tryMixture replaces the law by a mixture if the mixture raises the log density. The mixture must also be better than
// a t with a free standard deviation: a shape is taken, and not a standard deviation alone. The unit of the mixture is
// the scale of Student's t.
func (c *choice) tryMixture() {
	wanted := c.options.Family == Mixture
	if !wanted && (c.options.Family != "" || c.symmetric() || len(c.scaled) < leastRich) {
		return
	}
	f := mixtureFit{values: c.scaled, logs: c.logs, unit: fitStudent(c.scaled, part{}, spreadRows, true).scale}
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
