package gptest

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/tensor"
)

// limit is an observation model that is another model, base, in a limit or for some targets.
type limit struct {
	base, model string
	settings    string  // of model, as JSON
	theta       float64 // of all parameters of model; 0: as they start
	beside      beside  // the second number of a target; nil where there is none
}

// beside returns the number beside the number v of a target.
type beside func(v float64) float64

var limits = []limit{
	{base: "gaussian", model: "student-t", settings: `{"nu": 1e6}`},
	{base: "gaussian", model: "mixture", settings: `{"parts": 1}`},
	{base: "gaussian", model: "censored", beside: func(v float64) float64 { return v }},
	{base: "gaussian", model: "heteroscedastic", beside: func(float64) float64 { return 0 }},
	{base: "poisson", model: "poisson", settings: `{"exposure": true}`, beside: func(float64) float64 { return 1 }},
	{base: "poisson", model: "negative-binomial", theta: 20},
}

// limits: with Student's t of a million degrees of freedom a fit is the fit with Gaussian noise, and so on.
func (t *trial) limits() error {
	if t.Outputs() < 2 || t.Likelihood.Width() > 1 || t.Unlimited != nil && t.Unlimited(t.Problem.Problem, t.make()) {
		return nil
	}
	for _, l := range limits {
		if l.base != t.Likelihood.String() {
			continue
		}
		if err := t.limit(l); err != nil {
			return fmt.Errorf("the limit %s: %w", l.model, err)
		}
	}
	return nil
}

// limit compares a fit with the model of a limit.
func (t *trial) limit(l limit) error {
	p, err := l.of(t.Problem)
	if err != nil {
		return err
	}
	f, err := fit(t.ctx, t.make(), p.Problem, gp.Run{Seed: seed})
	if errors.Is(err, gp.ErrProblem) {
		return refusal(err, p)
	}
	if err != nil {
		return err
	}
	t.count(l.model)
	g, err := t.predict(f)
	return errors.Join(err,
		near("predictive distributions", predictive(learned(f, p.Likelihood), g), predictive(learned(t.fitted, t.Likelihood), t.got)),
		near("mean", g.Mean, t.got.Mean),
		near("covariance", g.Cov, t.got.Cov),
		near("prior standard deviations", f.Record.PriorStds, t.fitted.Record.PriorStds),
		near("noise variance", []float64{f.NoiseVariance}, []float64{t.fitted.NoiseVariance}))
}

// predictive returns quantiles, a probability and a log density of the target of each output, for predictions g.
func predictive(l likelihood.Likelihood, g gp.Gaussian) (all []float64) {
	c := g.Outputs()
	for i, m := range g.Mean {
		d := l.Predict(i%c, m, max(0, g.Cov[i*c+i%c]))
		at := max(0, math.Round(m))
		all = append(all, d.Quantile(0.05), d.Quantile(0.9), d.CDF(at), d.LogDensity(at))
	}
	return all
}

// tally counts what the problems of a method have checked.
type tally struct {
	compared map[string]int  // fits that were compared with a limit, by the model of the limit
	fitted   map[string]bool // models with which fits succeeded
}

// count counts a comparison with the model of a limit.
func (t *trial) count(model string) {
	if t.tally != nil {
		t.tally.compared[model]++
	}
}

// missing returns an error if the method serves the model of a limit, but no fit was compared with the limit.
func (t *tally) missing() error {
	for _, l := range limits {
		if t.fitted[l.base] && t.fitted[l.model] && t.compared[l.model] == 0 {
			return fmt.Errorf("no variant of the settings compares %s with the limit %s", l.base, l.model)
		}
	}
	return nil
}

// of returns a problem with base as a problem with model.
func (l limit) of(p Problem) (Problem, error) {
	of, err := started(l.model, l.settings, p.Outputs(), likelihood.NoiseVariance(p.Likelihood))
	if err != nil {
		return p, err
	}
	p.Likelihood = of.Copy(p.Dtype())
	for _, theta := range p.Likelihood.Params() {
		if l.theta != 0 {
			theta.Set(0, l.theta)
		}
	}
	held := *p.Validation
	p.Validation = &held
	p.Train.Y, p.Validation.Y = l.widen(p.Train), l.widen(held)
	return p, nil
}

// widen returns the targets of examples with the numbers beside them.
func (l limit) widen(e gp.Examples) *tensor.Dense {
	if l.beside == nil {
		return e.Y
	}
	var y []float64
	for _, v := range graph.Floats(e.Y) {
		y = append(y, v, l.beside(v))
	}
	n := e.N()
	return graph.Convert(dense.Of(y, n, len(y)/n), e.Y.Dtype())
}

// near compares up to what a million degrees of freedom leave, relative to the largest element.
func near(what string, got, want []float64) error {
	return differ(what, got, want, 1e-4*largest(slices.Concat(got, want)))
}
