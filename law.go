package valla

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/settings"
)

// maxLawInputs is the largest number of inputs from which the own scales of a law are learned. Rows with more inputs
// have the mean and the standard deviation of the prediction alone.
const maxLawInputs = 100

// checkLaw returns an error for a law that FitOptions do not know.
func checkLaw(name string) error {
	if !slices.Contains([]string{"", law.Gaussian, law.StudentT, law.Mixture}, name) {
		return settings.Errorf("law %q, expected %q, %q or %q", name, law.Gaussian, law.StudentT, law.Mixture)
	}
	return nil
}

// checkLaws returns an error if the laws are wrong.
func (m *Model) checkLaws() error {
	if m.Laws == nil {
		return nil
	}
	if !m.Task.Gaussian() || len(m.Laws) != m.Task.Size() {
		return fmt.Errorf("%d laws of residuals of %s, expected one for each target of a regression with Gaussian noise", len(m.Laws), m.Task.Kind())
	}
	for t := range m.Laws {
		l := &m.Laws[t]
		if err := l.Check(); err != nil {
			return fmt.Errorf("law of target %d (counting from 0): %w", t, err)
		}
		if d := l.Features(); l.Own != nil && d != m.lawInputs()+2 {
			return fmt.Errorf("law of target %d (counting from 0): %d features, expected %d", t, d, m.lawInputs()+2)
		}
	}
	return nil
}

// lawInputs returns how many inputs of a row are features of its own scale.
func (m *Model) lawInputs() int {
	if d := tensor.Shape(m.Task.Inputs.Shape).TotalSize(); d <= maxLawInputs {
		return d
	}
	return 0
}

// lawFeatures appends the features of the own scale of output t of one row: the inputs, the mean, and the logarithm
// of the standard deviation with the noise variance.
func (m *Model) lawFeatures(dst, x []float64, row gp.Gaussian, t int, noise float64) []float64 {
	c := len(row.Mean)
	return append(append(dst, x[:m.lawInputs()]...), row.Mean[t], 0.5*math.Log(max(row.Cov[t*c+t], 0)+noise))
}

// ownScales returns the posterior p with the own scales of the laws, if a law has them. p is without the temperature of
// a calibration, like the predictions to which the laws were fitted, so that the temperature scales every row.
func (m *Model) ownScales(p gp.Posterior) gp.Posterior {
	if !slices.ContainsFunc(m.Laws, func(l law.Law) bool { return l.Own != nil }) {
		return p
	}
	temperature := m.temperature()
	noise := m.NoiseVariance() / (temperature * temperature)
	buffers := sync.Pool{New: func() any { return new([]float64) }}
	return gp.Spread(p, func(dst, x []float64, row gp.Gaussian) {
		features := buffers.Get().(*[]float64)
		for t := range m.Laws {
			*features = m.lawFeatures((*features)[:0], x, row, t, noise)
			dst[t] = m.Laws[t].LogScale(*features)
		}
		buffers.Put(features)
	})
}

// fitLaws chooses the laws of the residuals of a regression by the held-out examples of a problem. A posterior that
// cannot predict them gets none; the verdict names its row.
func (m *Model) fitLaws(ctx context.Context, e *gp.Examples, d division) error {
	m.Laws = nil
	if e == nil || d.law == law.Gaussian || !m.Task.Gaussian() {
		return nil
	}
	all, err := m.residuals(ctx, *e, d.order)
	if err != nil || all == nil {
		return err
	}
	d.transformed = m.transform() != ""
	laws := make([]law.Law, len(all))
	for t, r := range all {
		if laws[t], err = d.lawOf(ctx, r); err != nil {
			return fmt.Errorf("law of the residuals of %q: %w", m.Task.Targets()[t], err)
		}
		laws[t] = laws[t].Remembering()
	}
	if slices.ContainsFunc(laws, func(l law.Law) bool { return l.Family != law.Gaussian || l.Own != nil }) {
		m.Laws = laws
	}
	return nil
}

// lawNames names the families of laws, each once; "" where all are Gaussian.
func lawNames(laws []law.Law) string {
	var names []string
	for _, l := range laws {
		if l.Family != law.Gaussian && !slices.Contains(names, l.Family) {
			names = append(names, l.Family)
		}
	}
	return strings.Join(names, ", ")
}

// lawOf returns the law of residuals. Pseudo-rows, whose targets lie on the way from one row to another, tell
// how heavy the tails are, but neither where targets scatter more nor whether the law is skewed.
func (d division) lawOf(ctx context.Context, r law.Residuals) (law.Law, error) {
	o := law.Options{Family: d.law, Symmetric: d.pseudo, Surely: d.transformed}
	if d.pseudo {
		o.Own = law.OwnNever
	}
	l, _, err := law.Fit(ctx, r, o)
	return l, err
}

// residuals returns the standardised residuals of each output at examples, in their order in the file: order has the
// number of each example there, nil where they are in it. It returns nil if a prediction is not finite.
func (m *Model) residuals(ctx context.Context, e gp.Examples, order []int) ([]law.Residuals, error) {
	rows := dense.Indices(e.N())
	if order != nil {
		slices.SortFunc(rows, func(a, b int) int { return order[a] - order[b] })
	}
	e = e.Rows(rows)
	c, noise, y := m.Task.Size(), m.NoiseVariance(), graph.Floats(e.Y)
	x, d := graph.Floats(e.X), e.X.Size()/e.N()
	all := make([]law.Residuals, c)
	for t := range all {
		all[t].LastIsStd = true
	}
	err := m.eachLatent(ctx, e.X, false, func(first int, g gp.Gaussian) error {
		for i := range g.N() {
			row := g.Rows(i, 1)
			for t := range c {
				r, at := &all[t], first+i
				r.Z = append(r.Z, (y[at*c+t]-row.Mean[t])/math.Sqrt(max(row.Cov[t*c+t], 0)+noise))
				r.Features = m.lawFeatures(r.Features, x[at*d:(at+1)*d], row, t, noise)
			}
		}
		return nil
	})
	for _, r := range all {
		if i, _ := kernel.FirstNonFinite(slices.Concat(r.Z, r.Features)); i >= 0 {
			return nil, err
		}
	}
	return all, err
}

// Likelihood returns the observation model of the targets in the network's units, with the parameters and the noise
// of the fit. It is not to be changed.
func (m *Model) Likelihood() likelihood.Likelihood {
	l := m.Task.Likelihood()
	if m.Posterior != nil && m.Posterior.Model != nil {
		if learned, err := m.Posterior.Model.Likelihood(); err == nil {
			l = learned
		}
	}
	return likelihood.WithNoise(l, m.NoiseVariance())
}

// observation says how the targets scatter around the latent function.
func (m *Model) observation() task.Observation {
	by := task.Observation{NoiseVariance: m.NoiseVariance(), Laws: m.Laws}
	if r, ok := m.Task.Outputs.(*task.Regression); ok && r.Model != nil {
		by.Likelihood = m.Likelihood()
	}
	return by
}

// sameLaws reports whether two slices are the same laws in memory.
func sameLaws(a, b []law.Law) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
