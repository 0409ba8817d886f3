package valla

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/method"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/train"
	"github.com/go-valla/valla/train/metric"
)

// quickFit takes a tenth of a second.
func quickFit() *vallagp.Settings {
	return &vallagp.Settings{Inducing: 8, Iterations: 60, BatchSize: 50}
}

func TestFitGivesErrorBarsAndKeepsTheMean(t *testing.T) {
	for _, optimizer := range []string{"natural", "adam"} {
		for _, dt := range bothTypes {
			o, s := quickTrain(), quickFit()
			o.Network.Dtype, s.Optimizer = dt.String(), optimizer
			s.Patience = new(0) // all steps are made
			wider := 2.0        // the least ratio of the variances outside and amid the data
			if optimizer == "adam" {
				s.Iterations, wider = 300, 4
			}
			set := wave(200, 1)
			m, err := Train(t.Context(), set, o)
			if err != nil {
				t.Fatal(err)
			}
			given := *s
			f := fit(t, m, set, FitOptions{Settings: s})
			if m.Posterior != nil || len(m.History) != 1 || !reflect.DeepEqual(*s, given) {
				t.Errorf("Fit changed its model or its settings: %+v", s)
			}
			x := denseOf([]float64{0, 100, 30, 100}, 2, 2) // amid the data, and far outside
			before, after := predict(t, m, x), predict(t, f, x)
			for i := range 2 {
				near(t, "mean", after.Mean[i], before.Mean[i], 1e-6)
			}
			if after.Latent[0] <= 0 || after.Latent[1] < wider*after.Latent[0] {
				t.Errorf("%s, %v: latent variance %g amid the data, %g outside", optimizer, dt, after.Latent[0], after.Latent[1])
			}
			e := f.History[1]
			if len(f.History) != 2 || e.Action != ActionFit || e.Method != "valla" || e.Label != f.String() || e.Rows != 180 ||
				e.ValidationRows != 20 || e.Settings["inducing"] != 8 || e.Settings["optimizer"] != optimizer || e.Result.Iterations != s.Iterations {
				t.Errorf("recorded %+v", f.History)
			}
			if refit := fit(t, f, set, FitOptions{Settings: s}); len(refit.History) != 2 || !slices.Equal(numbers(predict(t, refit, x)), numbers(after)) {
				t.Errorf("fitted again: recorded %+v", refit.History)
			}
		}
	}
}

// Fit is the method's own fit to the Problem of the model.
func TestFitIsTheMethods(t *testing.T) {
	m, set := trained(t)
	o := FitOptions{Settings: &laplace.Settings{Structure: "kfac", Priors: "per-layer", NoiseStd: 0.5}, Validation: new(0.2), Run: gp.Run{Seed: 3}}
	p, err := m.Problem(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	rows, held, err := holdout.Split(set, 0.2, 3)
	if err != nil {
		t.Fatal(err)
	}
	want, err := m.Task.Examples(rows, tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Train.X.Float64s(), want.X.Float64s()) || !slices.Equal(p.Train.Y.Float64s(), want.Y.Float64s()) || p.Validation.N() != held.N() {
		t.Error("the problem has other rows")
	}
	near(t, "noise variance of the problem", likelihood.NoiseVariance(p.Likelihood), m.NoiseVariance(), 1e-14)
	direct, err := o.Settings.Fit(t.Context(), p, o.Run)
	if err != nil {
		t.Fatal(err)
	}
	f := fit(t, m, set, o)
	x := denseOf([]float64{0.5, 1, -1, 2}, 2, 2)
	a := small.Predict(t, direct.Posterior, x)
	b := small.Predict(t, f.Posterior, x)
	if !slices.Equal(a.Cov, b.Cov) || f.NoiseVariance() != 0.25 || !slices.Equal(f.History[1].PriorStds, direct.Record.PriorStds) {
		t.Errorf("covariance %v, the method's %v", b.Cov, a.Cov)
	}
}

// A fit without settings uses VaLLA. A fit with nil settings uses the method's defaults.
func TestFitDefaults(t *testing.T) {
	s, how, err := FitOptions{}.method()
	if err != nil || how.Name != method.Default || inJSON(t, s) != inJSON(t, &vallagp.Settings{}) {
		t.Errorf("%+v of %q, error %v", s, how.Name, err)
	}
	s, how, err = FitOptions{Settings: (*laplace.Settings)(nil)}.method()
	if err != nil || how.Name != "lla" || inJSON(t, s) != inJSON(t, &laplace.Settings{}) {
		t.Errorf("%+v of %q, error %v", s, how.Name, err)
	}
	m, set := newTestModel(t, tensor.Float64, 0, 3), wave(40, 1)
	p, err := m.Problem(t.Context(), set, FitOptions{})
	if err != nil || p.Train.N() != 36 || p.Validation.N() != 4 {
		t.Errorf("%d and %v rows, error %v", p.Train.N(), p.Validation, err)
	}
	p, err = m.Problem(t.Context(), set, FitOptions{Validation: new(0.0)})
	if err != nil || p.Train.N() != 40 || p.Validation != nil {
		t.Errorf("%d and %v rows, error %v", p.Train.N(), p.Validation, err)
	}
	p, err = m.Problem(t.Context(), set, FitOptions{Held: wave(3, 2)})
	if err != nil || p.Train.N() != 40 || p.Validation.N() != 3 {
		t.Errorf("%d and %v rows, error %v", p.Train.N(), p.Validation, err)
	}
}

func TestFitRestoresTheBestPosterior(t *testing.T) {
	m, set := trained(t)
	s := &vallagp.Settings{Optimizer: "adam", Inducing: 8, LearningRate: 0.1, Iterations: 500, BatchSize: 50}
	f := fit(t, m, set, FitOptions{Settings: s, Law: law.Gaussian})
	_, held, err := holdout.Split(set, 0.1, 0)
	if err != nil {
		t.Fatal(err)
	}
	p, nll := predict(t, f, held.X), 0.0
	for i, y := range held.Y.Float64s() {
		nll += metric.GaussianNLL(p.Mean[i], p.Variance[i], y) / float64(held.N())
	}
	res := f.History[1].Result
	// The density of y is the density of the standardised y divided by the scale.
	near(t, "validation NLL", nll-math.Log(f.NoiseStds()[0]/math.Sqrt(f.NoiseVariance())), res.BestValue, 1e-9)
	for _, h := range res.History {
		if h.Validation < res.BestValue {
			t.Errorf("%g after %d iterations is better than %g", h.Validation, h.Iteration, res.BestValue)
		}
	}
}

func TestSettingsReachTheFit(t *testing.T) {
	m, set := trained(t)
	o := FitOptions{Settings: quickFit()}
	base := array(t, fit(t, m, set, o), "valla.l").Float64s()
	if again := array(t, fit(t, m, set, o), "valla.l").Float64s(); !slices.Equal(again, base) {
		t.Error("the same settings give another posterior")
	}
	for name, change := range map[string]func(*FitOptions, *vallagp.Settings){
		"alpha":      func(_ *FitOptions, s *vallagp.Settings) { s.Alpha = new(0.0) },
		"init":       func(_ *FitOptions, s *vallagp.Settings) { s.Init = "random-points" },
		"seed":       func(o *FitOptions, _ *vallagp.Settings) { o.Seed = 1 },
		"rate":       func(_ *FitOptions, s *vallagp.Settings) { s.LearningRate = 1e-3 },
		"batch":      func(_ *FitOptions, s *vallagp.Settings) { s.BatchSize = 20 },
		"validation": func(o *FitOptions, _ *vallagp.Settings) { o.Validation = new(0.3) },
		"prior":      func(_ *FitOptions, s *vallagp.Settings) { s.PriorStd, s.FixPrior = 0.3, true },
		"noise":      func(_ *FitOptions, s *vallagp.Settings) { s.NoiseStd, s.FixNoise = 0.5, true },
	} {
		s := quickFit()
		other := FitOptions{Settings: s}
		change(&other, s)
		f := fit(t, m, set, other)
		if slices.Equal(array(t, f, "valla.l").Float64s(), base) {
			t.Errorf("%s makes no difference", name)
		}
		switch name {
		case "prior":
			near(t, name, f.History[1].PriorStds[0], 0.3, 1e-12)
		case "noise":
			near(t, name, math.Sqrt(f.NoiseVariance()), 0.5, 1e-12)
			near(t, "noise of the network alone", f.MAP().NoiseVariance(), m.NoiseVariance(), 0)
		}
	}
}

func TestResumedFitIsTheUninterruptedOne(t *testing.T) {
	for _, optimizer := range []string{"natural", "adam"} {
		m, set := trained(t)
		s := quickFit()
		s.Optimizer = optimizer
		whole := fit(t, m, set, FitOptions{Settings: s})
		o := FitOptions{Settings: s, Run: gp.Run{Checkpoint: filepath.Join(t.TempDir(), "c.zip"), Resume: true}}
		part, err := m.Fit(&endsAfter{t.Context(), 40}, set, o)
		if !errors.Is(err, t.Context().Err()) && part == nil {
			t.Fatalf("error %v", err)
		}
		if n := part.History[1].Result.Iterations; n == 0 || n == 60 || part.History[1].Result.Stopped != train.Interrupted {
			t.Fatalf("%s: interrupted after %d steps", optimizer, n)
		}
		oneLine(t, err, "fit: ")
		resumed := fit(t, m, set, o)
		x := wave(20, 5).X
		if !slices.Equal(numbers(predict(t, resumed, x)), numbers(predict(t, whole, x))) || whole.NoiseVariance() != resumed.NoiseVariance() {
			t.Errorf("%s: another posterior after the resumed run", optimizer)
		}
		o.Settings = &vallagp.Settings{Optimizer: optimizer, Inducing: 7, Iterations: 60, BatchSize: 50}
		_, err = m.Fit(t.Context(), set, o)
		oneLine(t, err, "fit: ")
	}
}

// A fit that is interrupted after it has fitted has no verdict.
func TestInterruptedVerdict(t *testing.T) {
	m, set := newTestClasses(t, tensor.Float64, 3), thirds(60, 3)
	ctx, cancel := context.WithCancel(t.Context())
	f, err := m.Fit(ctx, set, FitOptions{Settings: &ownSettings{done: cancel}})
	if !errors.Is(err, context.Canceled) || f == nil {
		t.Fatalf("model %v, error %v", f, err)
	}
	again := loaded(t, written(t, f))
	e := again.History[len(again.History)-1]
	if e.Verdict != nil || !slices.Contains(e.Notes, "The fit was interrupted before its verdict.") {
		t.Errorf("verdict %v, notes %q", e.Verdict, e.Notes)
	}
	predict(t, again, set.X)
}

// A pass over the data has no best state so far.
func TestInterruptedPassIsAnError(t *testing.T) {
	m, set := newTestModel(t, tensor.Float64, 0, 3), wave(40, 1)
	f, err := m.Fit(&endsAfter{t.Context(), 0}, set, FitOptions{Settings: &laplace.Settings{}})
	if f != nil || err == nil {
		t.Errorf("model %v, error %v", f, err)
	}
	oneLine(t, err, "fit: ")
}

func TestFitErrors(t *testing.T) {
	m, set := newTestModel(t, tensor.Float64, 0, 3), wave(50, 1)
	for want, o := range map[string]FitOptions{
		"inducing: expected":     {Settings: &vallagp.Settings{Inducing: -1}},
		"alpha: expected":        {Settings: &vallagp.Settings{Alpha: new(1.5)}},
		"alpha":                  {Settings: &vallagp.Settings{Alpha: new(math.NaN())}},
		"prior-std":              {Settings: &vallagp.Settings{PriorStd: -1}},
		"optimizer":              {Settings: &vallagp.Settings{Optimizer: "sgd"}},
		"validation fraction 1":  {Validation: new(1.0)},
		"validation fraction -1": {Validation: new(-1.0)},
		"resume without":         {Run: gp.Run{Resume: true}},
		"rank 3":                 {Settings: &laplace.Settings{Rank: 3}},
		"needs validation rows":  {Settings: &laplace.Settings{Hyper: "grid"}, Validation: new(0.0)},
		"subset 46":              {Settings: &laplace.Settings{Subset: 46}},
	} {
		f, err := m.Fit(t.Context(), set, o)
		oneLine(t, err, "fit: ", want)
		if f != nil || !errors.Is(err, ErrSetting) {
			t.Errorf("%s: model %v, error %v", want, f, err)
		}
	}
	_, err := newTestClasses(t, tensor.Float64, 3).Fit(t.Context(), thirds(20, 1), FitOptions{Settings: &vallagp.Settings{NoiseStd: 1}})
	if oneLine(t, err, "fit: ", "with classes"); !errors.Is(err, ErrSetting) {
		t.Error(err)
	}
	swapped := *set
	swapped.Features = []string{"b", "a"}
	_, err = m.Fit(t.Context(), &swapped, FitOptions{})
	oneLine(t, err, `fit: expected the features ["a" "b"], found ["b" "a"]`)
	_, err = m.Fit(t.Context(), set, FitOptions{Held: &swapped})
	oneLine(t, err, `fit: expected the features ["a" "b"]`)
	_, err = m.Fit(t.Context(), twins(20, 1), FitOptions{})
	oneLine(t, err, `fit: expected the targets ["y"], found ["y" "z"]`)
	_, err = m.Fit(t.Context(), set, FitOptions{Settings: foreignSettings{}})
	oneLine(t, err, "fit: settings of type valla.foreignSettings belong to no method of the table")
	_, err = m.Fit(t.Context(), set, FitOptions{Settings: &laplace.Settings{}, Run: gp.Run{Memory: 1000}})
	var limit *graph.MemoryError
	if !errors.As(err, &limit) {
		t.Errorf("error %v, want a MemoryError", err)
	}
	_, err = m.Fit(t.Context(), set, FitOptions{Run: gp.Run{Checkpoint: filepath.Join(t.TempDir(), "no", "c.zip")}, Settings: quickFit()})
	oneLine(t, err, "fit: ", "checkpoint")
	broken := wave(50, 1)
	broken.Y.Float64s()[3] = math.Inf(1)
	_, err = m.Fit(t.Context(), broken, FitOptions{})
	oneLine(t, err, `fit: row `, `target "y"`, "found +Inf")
}

// foreignSettings are settings of a method that the table does not have.
type foreignSettings struct{ gp.Settings }

// What a fit reports while it goes on.
func TestFitProgress(t *testing.T) {
	m, set := newTestModel(t, tensor.Float64, 0, 3), wave(50, 1)
	whole := quickFit()
	whole.Patience = new(0)
	for _, c := range []struct {
		s     gp.Settings
		unit  string
		total int
	}{{whole, "steps", 60}, {&laplace.Settings{}, "rows", 45}} {
		var last train.Progress
		fit(t, m, set, FitOptions{Settings: c.s, Run: gp.Run{OnProgress: func(p train.Progress) { last = p }}})
		if last.Unit != c.unit || last.Done != c.total || last.Total != c.total {
			t.Errorf("%v: last report %+v", c.s.Label(), last)
		}
	}
}

// Every row of the table can be fitted with its defaults, and the posterior has the row's name.
func TestEveryMethodWithItsDefaults(t *testing.T) {
	m, set := newTestModel(t, tensor.Float64, 0, 3), wave(30, 1)
	for _, how := range method.All() {
		if how.Name == "own" || how.Name == "blind" {
			continue // of tests
		}
		s := how.New()
		if v, ok := s.(*vallagp.Settings); ok {
			v.Iterations = 5
		}
		f := fit(t, m, set, FitOptions{Settings: s})
		if f.Posterior.Method != how.Name || f.History[1].Label != f.String() {
			t.Errorf("%s: %v, %+v", how.Name, f, f.History[1])
		}
		comesBack(t, f, set.X)
	}
	if all := method.All(); all[0].Name != method.Default {
		t.Errorf("the first method is %s", all[0].Name)
	}
}

// Fits of a float32 network with inducing points for classes keep a class for each.
func TestInducingPointsOfClasses(t *testing.T) {
	f := fit(t, newTestClasses(t, tensor.Float32, 3), thirds(30, 1), FitOptions{Settings: &vallagp.Settings{Inducing: 8, Iterations: 1}, Validation: new(0.0)})
	if z := array(t, f, "valla.z"); !slices.Equal(z.Shape(), []int{8, 2}) || f.String() != "VaLLA 8" {
		t.Errorf("%v with inducing inputs of shape %v", f, z.Shape())
	}
	few := &data.Set{Features: []string{"a", "b"}, Targets: []string{"y"}, X: data.TakeRows(wave(4, 1).X, repeat(4, 40)), Y: data.TakeRows(wave(4, 1).Y, repeat(4, 40))}
	g := fit(t, newTestModel(t, tensor.Float64, 0, 3), few, FitOptions{Settings: quickFit(), Validation: new(0.0)})
	// Notes on the network, which is untrained, come after the note of the method.
	if n := g.History[1].Notes; g.String() != "VaLLA 4" || len(n) == 0 || !strings.HasPrefix(n[0], "4 inducing points instead of 8") || g.History[1].Label != "VaLLA 4" {
		t.Errorf("%v: %q", g, g.History[1].Notes)
	}
}

// repeat returns 0…k−1 again and again, n numbers.
func repeat(k, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i % k
	}
	return out
}
