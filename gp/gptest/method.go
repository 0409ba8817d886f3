package gptest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// MethodCase is a method with the facts that the checks need. Only Method must be set.
type MethodCase struct {
	Method gp.Method // the method under test

	// Variants make settings for a problem, by name. Settings that are nil say that the
	// variant does not suit the problem. No variants stand for the method's defaults.
	Variants map[string]func(gp.Problem) gp.Settings
	// Case adds to the case of a fitted posterior what is known of it, such as the batch
	// and the prior; nil adds nothing.
	Case func(p gp.Problem, f *gp.Fitted, c *Case)
	// Unlimited reports whether a fit to the problem with the settings depends on how an observation model writes its parameters,
	// so that a model and its limit, such as Student's t and the Gaussian, differ; nil means no fit.
	Unlimited func(gp.Problem, gp.Settings) bool

	tally *tally // of the problems so far; nil counts nothing
}

// CheckMethod runs a subtest for each promise that a method of package gp has to keep: for
// its description, and for its fits to each of [Problems] with each variant of the
// settings, or with half of them where there are many. Each posterior has to keep the promises of [Check]. With -short only the
// multilayer perceptrons in float64 are fitted. The method serves each of [ModelProblems] or
// refuses the observation model in one line, see gp.CannotServe; the posteriors have to keep the
// promises that depend on the model. Where a model is another model in a limit, such as Student's t and the Gaussian,
// both fits agree, for at least one variant of each method that serves both.
func CheckMethod(t *testing.T, c MethodCase) {
	t.Helper()
	often := debug.SetGCPercent(400) // beside the little memory of small models the collector would take a fifth of the time
	t.Cleanup(func() { debug.SetGCPercent(often) })
	t.Run("description", func(t *testing.T) {
		if err := describes(c.Method); err != nil {
			t.Error(err)
		}
	})
	problems, err := Problems()
	if err != nil {
		t.Fatal(err)
	}
	c.tally = &tally{map[string]int{}, map[string]bool{}}
	c.each(t, problems, c.check)
	if problems, err = ModelProblems(); err != nil {
		t.Fatal(err)
	}
	c.each(t, problems, c.checkModel)
	if err := c.tally.missing(); err != nil {
		t.Error(err)
	}
}

// manyVariants is the number of variants from which on half of them are fitted to a problem.
const manyVariants = 5

// each runs a subtest for each problem with each variant. Of many variants it takes half for most problems, unless the test is long.
func (c MethodCase) each(t *testing.T, problems []Problem, check func(*testing.T, Problem, func(gp.Problem) gp.Settings)) {
	names := slices.Sorted(maps.Keys(c.variants()))
	for i, p := range problems {
		if testing.Short() && !p.thorough() {
			continue
		}
		for k, name := range names {
			if len(names) >= manyVariants && !p.thorough() && (i+i/2+k)%2 == 1 && !fixture.Long() {
				continue // the problems together have each variant with each network, task and element type
			}
			if v := c.variants()[name]; v(p.Problem) != nil {
				t.Run(p.Name+", "+name, func(t *testing.T) { check(t, p, v) })
			}
		}
	}
}

// variants are Variants or the method's defaults.
func (c MethodCase) variants() map[string]func(gp.Problem) gp.Settings {
	if c.Variants != nil {
		return c.Variants
	}
	return map[string]func(gp.Problem) gp.Settings{"defaults": func(gp.Problem) gp.Settings { return c.Method.New() }}
}

// check checks one variant on one problem.
func (c MethodCase) check(t *testing.T, p Problem, variant func(gp.Problem) gp.Settings) {
	f, err := newTrial(t.Context(), c, p, variant)
	if err != nil {
		t.Fatal(err)
	}
	c.served(p)
	f.keeps(t, func(q promise) bool { return !q.thorough || p.thorough() })
	t.Run("joint", func(t *testing.T) {
		if _, joint := f.testCase().Posterior.(gp.JointPosterior); joint != c.Method.Joint {
			t.Errorf("the method says that its posteriors are joint ones: %t, this one is: %t", c.Method.Joint, joint)
		}
	})
	t.Run("posterior", func(t *testing.T) { Check(t, f.testCase()) })
}

// checkModel checks one variant on a problem with another observation model.
func (c MethodCase) checkModel(t *testing.T, p Problem, variant func(gp.Problem) gp.Settings) {
	f, err := newTrial(t.Context(), c, p, variant)
	if errors.Is(err, gp.ErrProblem) {
		if err := refusal(err, p); err != nil {
			t.Error(err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	c.served(p)
	f.keeps(t, func(q promise) bool { return q.model && (!q.thorough || p.thorough()) })
	q, err := newProbe(t.Context(), f.testCase())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(q.shapes(), q.mean(), q.probabilities(), q.covariance(), q.belowPrior(), q.joint()); err != nil {
		t.Error(err)
	}
}

// served notes that a fit to the problem succeeded, if its limits are checked.
func (c MethodCase) served(p Problem) {
	if p.thorough() && p.Outputs() > 1 {
		c.tally.fitted[p.Likelihood.String()] = true
	}
}

// refusal checks the error with which a method refuses the observation model of a problem.
func refusal(err error, p Problem) error {
	if text := err.Error(); !strings.Contains(text, p.Likelihood.String()) || strings.Contains(text, "\n") {
		return fmt.Errorf("the method refuses the likelihood %v with the error %q, expected one line that names the likelihood", p.Likelihood, text)
	}
	return nil
}

// keeps runs a subtest for each of the chosen promises.
func (t *trial) keeps(to *testing.T, chosen func(promise) bool) {
	for _, q := range promises {
		if !chosen(q) {
			continue
		}
		to.Run(q.name, func(to *testing.T) {
			if err := q.check(t); err != nil {
				to.Error(err)
			}
		})
	}
}

// thorough says whether promises that take many fits are checked with the problem.
func (p Problem) thorough() bool {
	return p.Probe.Dtype() == tensor.Float64 && p.Probe.Dims() == 2
}

// promise is what a method promises of each fit; check returns what breaks it.
type promise struct {
	name     string             // of the subtest
	thorough bool               // it takes many fits
	model    bool               // it depends on the observation model
	check    func(*trial) error // returns what breaks the promise
}

var promises = []promise{
	{name: "settings", check: (*trial).settingsKept},
	{name: "nothing else changes", model: true, check: (*trial).unchanged},
	{name: "record", model: true, check: (*trial).record},
	{name: "progress", check: (*trial).progress},
	{name: "same seed", thorough: true, check: (*trial).sameSeed},
	{name: "recorded settings", check: (*trial).sameSettings},
	{name: "restored", model: true, check: (*trial).restored},
	{name: "spoiled arrays", thorough: true, check: (*trial).spoiledArrays},
	{name: "spoiled headers", thorough: true, check: (*trial).spoiledHeaders},
	{name: "updates", model: true, check: (*trial).updates},
	{name: "sums", model: true, check: (*trial).sums},
	{name: "checkpoints", thorough: true, check: (*trial).checkpoints},
	{name: "ended context", check: (*trial).endedContext},
	{name: "limits", thorough: true, model: true, check: (*trial).limits},
	{name: "wrong problems", thorough: true, model: true, check: (*trial).wrongProblems},
	{name: "too little memory", thorough: true, check: (*trial).tooLittleMemory},
}

// seed is the seed of all fits that must agree.
const seed = 7

// trial is a fit of a method, with what was there before.
type trial struct {
	MethodCase
	Problem
	ctx    context.Context    // of the test
	make   func() gp.Settings // returns new settings of the variant
	given  gp.Settings        // what was fitted
	before [][]float64        // see numbers
	steps  []train.Progress   // reported
	fitted *gp.Fitted         // the first fit, with the seed of all fits that must agree
	got    gp.Gaussian        // at Probe
	saved  *Saved             // the state of fitted, as a file holds it
}

func newTrial(ctx context.Context, c MethodCase, p Problem, variant func(gp.Problem) gp.Settings) (*trial, error) {
	t := &trial{MethodCase: c, Problem: p, ctx: ctx, make: func() gp.Settings { return variant(p.Problem) }}
	t.given, t.before = t.make(), t.numbers()
	var err error
	run := gp.Run{Seed: seed, OnProgress: func(s train.Progress) { t.steps = append(t.steps, s) }}
	if t.fitted, err = fit(ctx, t.given, p.Problem, run); err != nil {
		return nil, fmt.Errorf("gptest: fit: %w", err)
	}
	if t.fitted == nil || t.fitted.Posterior == nil {
		return nil, fmt.Errorf("gptest: fit: neither a posterior nor an error")
	}
	if t.got, err = t.predict(t.fitted); err != nil {
		return nil, fmt.Errorf("gptest: prediction: %w", err)
	}
	state, err := t.fitted.Posterior.State()
	if err != nil {
		return nil, fmt.Errorf("gptest: state: %w", err)
	}
	t.saved, err = Memory(state)
	return t, err
}

// fit fits settings; a panic is an error here.
func fit(ctx context.Context, s gp.Settings, p gp.Problem, r gp.Run) (f *gp.Fitted, err error) {
	defer recovered(&err)
	return s.Fit(ctx, p, r)
}

func (t *trial) predict(f *gp.Fitted) (gp.Gaussian, error) {
	return gp.Predict(t.ctx, f.Posterior, t.Probe)
}

// restore restores a state; a panic is an error here.
func (t *trial) restore(ctx context.Context, s gp.Saved) (p gp.Stored, err error) {
	defer recovered(&err)
	return t.Method.Restore(ctx, t.Net, cmp.Or(t.fitted.Likelihood, t.Likelihood), s)
}

// learned returns the likelihood with the noise and the other parameters of the fit.
func (t *trial) learned() likelihood.Likelihood {
	return learned(t.fitted, t.Likelihood).Copy(t.Dtype())
}

// learned returns the likelihood of a problem with the parameters of a fit.
func learned(f *gp.Fitted, l likelihood.Likelihood) likelihood.Likelihood {
	return likelihood.WithNoise(cmp.Or(f.Likelihood, l), cmp.Or(f.NoiseVariance, likelihood.NoiseVariance(l)))
}

// numbers returns all arrays that a fit must leave unchanged.
func (t *trial) numbers() (all [][]float64) {
	for _, p := range slices.Concat(t.Net.Params(), layers.State(t.Net), t.Likelihood.Params()) {
		all = append(all, p.Floats())
	}
	for _, e := range []*gp.Examples{&t.Train, t.Validation} {
		all = append(all, graph.Floats(e.X), graph.Floats(e.Y))
	}
	return all
}

// testCase is the case of the posterior.
func (t *trial) testCase() Case {
	c := Case{Posterior: t.fitted.Posterior, X: t.Probe, Net: t.Net}
	if t.Case != nil {
		t.Case(t.Problem.Problem, t.fitted, &c)
	}
	return c
}

// describes checks what the table of methods says of a method.
func describes(m gp.Method) error {
	for name, text := range map[string]string{
		"title": m.Title, "summary": m.Summary, "formula": m.Formula, "cost": m.Cost, "use": m.Use, "source": m.Source,
	} {
		if text == "" {
			return fmt.Errorf("the method has no %s", name)
		}
	}
	if !methodName.MatchString(m.Name) || m.New == nil || m.Restore == nil {
		return fmt.Errorf("the method is called %q, expected small letters, digits, single dashes and plus signs, and New and Restore", m.Name)
	}
	s := m.New()
	if given := settings.Map(s); len(given) > 0 || s == m.New() {
		return fmt.Errorf("new settings are %v, expected zero values of their own", given)
	}
	if s.Label() == "" {
		return fmt.Errorf("the zero settings have no label")
	}
	return describesSettings(s)
}
