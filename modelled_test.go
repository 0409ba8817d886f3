package valla

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/task"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/train"
)

// modelled is a small problem of an observation model.
type modelled struct {
	name     string                                             // of the model
	settings []string                                           // of the model
	columns  []string                                           // names of the targets
	draw     func(x float64, rng *rand.Rand) (target []float64) // for the input x
	bad      []float64                                          // a target that the model refuses
	refusal  string                                             // part of the error
}

// modelledProblems are a problem of each kind of targets.
var modelledProblems = []modelled{
	{"poisson", nil, []string{"n"}, func(x float64, rng *rand.Rand) []float64 {
		n, limit := 0.0, math.Exp(-math.Exp(x))
		for p := rng.Float64(); p > limit; p *= rng.Float64() {
			n++
		}
		return []float64{n}
	}, []float64{-1}, `row 3 (counting from 0), target "n": -1, expected a count`},
	{"bernoulli", nil, []string{"red", "round"}, func(x float64, rng *rand.Rand) []float64 {
		yes := func(f float64) float64 {
			if rng.Float64() < 1/(1+math.Exp(-f)) {
				return 1
			}
			return 0
		}
		return []float64{yes(3 * x), yes(-2 * x)}
	}, []float64{1, 2}, `row 3 (counting from 0), target "round": 2, expected 0 or 1`},
	{"student-t", nil, []string{"y"}, func(x float64, rng *rand.Rand) []float64 {
		noise := rng.NormFloat64()
		if rng.IntN(20) == 0 {
			noise *= 20
		}
		return []float64{50 + 10*math.Sin(2*x) + noise}
	}, []float64{math.Inf(1)}, `row 3 (counting from 0), target "y": +Inf, expected a finite number`},
	{"ordinal", nil, []string{"grade"}, func(x float64, rng *rand.Rand) []float64 {
		return []float64{math.Floor(min(max(1.5+x+0.5*rng.NormFloat64(), 0), 3))}
	}, []float64{1.5}, `row 3 (counting from 0), target "grade": 1.5, expected a class 0…3`},
	{"censored", nil, []string{"from", "to"}, func(x float64, rng *rand.Rand) []float64 {
		y := 100 + 20*x + 5*rng.NormFloat64()
		if y > 120 {
			return []float64{120, likelihood.Open}
		}
		return []float64{y, y}
	}, []float64{7, 6}, `row 3 (counting from 0), target "from": bounds 7 and 6, expected a lower and an upper bound`},
}

// set returns n rows of the problem.
func (p modelled) set(n int, seed uint64) *data.Set {
	rng := rand.New(rand.NewPCG(seed, 0))
	x, y := make([]float64, n), []float64(nil)
	for i := range x {
		x[i] = 3*rng.Float64() - 1.5
		y = append(y, p.draw(x[i], rng)...)
	}
	return &data.Set{Features: []string{"x"}, Targets: p.columns, X: denseOf(x, n, 1), Y: denseOf(y, n, len(p.columns))}
}

// options returns options for a training of a few tenths of a second.
func (p modelled) options(t testing.TB, dtype string) TrainOptions {
	t.Helper()
	s, err := likelihood.Named(p.name, p.settings...)
	if err != nil {
		t.Fatal(err)
	}
	o := quickTrain()
	o.Network.Dtype, o.Likelihood = dtype, s
	return o
}

// TestModelled: a network that is trained with an observation model beats the network of the first step, and posteriors
// of two methods come through a file unchanged.
func TestModelled(t *testing.T) {
	for i, p := range modelledProblems {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			set, fresh := p.set(300, 1), p.set(200, 2)
			o := p.options(t, []string{"float64", "float32"}[i%2])
			m, err := Train(t.Context(), set, o)
			if err != nil {
				t.Fatal(err)
			}
			e, err := m.Task.Examples(set, m.Dtype())
			if err != nil {
				t.Fatal(err)
			}
			if notes, err := m.networkWarnings(t.Context(), e); len(notes) > 0 || err != nil {
				t.Errorf("the notes %q, error %v", notes, err)
			}
			if loss, ok := m.constantLoss(e); !ok || math.IsInf(loss, 0) || loss != loss {
				t.Errorf("loss %g of the same output for all rows, %t", loss, ok)
			}
			o.Training.Iterations = 1
			first, err := Train(t.Context(), set, o)
			if err != nil {
				t.Fatal(err)
			}
			if got, before := p.nll(t, m, fresh), p.nll(t, first, fresh); m.Likelihood().String() != p.name || !(got < before-0.05) {
				t.Errorf("the NLL of %v is %g after the training and %g before", m.Likelihood(), got, before)
			}
			for _, s := range []gp.Settings{&vallagp.Settings{Inducing: 8, Iterations: 50, BatchSize: 50}, &laplace.Settings{}} {
				p.throughFile(t, fit(t, m, set, FitOptions{Settings: s}), fresh)
			}
		})
	}
}

// nll returns the NLL of a model on a set.
func (p modelled) nll(t testing.TB, m *Model, set *data.Set) float64 {
	t.Helper()
	s, err := m.Evaluate(t.Context(), set, PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s.NLL()
}

// throughFile compares a model with the model that its file holds.
func (p modelled) throughFile(t *testing.T, m *Model, fresh *data.Set) {
	t.Helper()
	again := loaded(t, written(t, m))
	if a, b := p.nll(t, m, fresh), p.nll(t, again, fresh); a != b || a-a != 0 {
		t.Errorf("%v: NLL %g, after a file %g", m, a, b)
	}
	if a, b := numbers(predict(t, m, fresh.X)), numbers(predict(t, again, fresh.X)); !slices.Equal(a, b) {
		t.Errorf("%v: other predictions after a file", m)
	}
	low, high := predict(t, again, fresh.X).Quantiles(0.05), predict(t, again, fresh.X).Quantiles(0.95)
	for i := range low {
		if !(low[i] <= high[i]) {
			t.Fatalf("%v: quantiles %g and %g of value %d", m, low[i], high[i], i)
		}
	}
}

// TestModelledScaling: targets that are numbers are standardised without bounds that are open, other targets stay as
// they are, and the settings of the caller do not change.
func TestModelledScaling(t *testing.T) {
	for _, p := range modelledProblems {
		set, o := p.set(300, 1), p.options(t, "float64")
		o.Training.Iterations = 1
		before := inJSON(t, o.Likelihood)
		m, err := Train(t.Context(), set, o)
		if err != nil {
			t.Fatal(err)
		}
		r := m.Task.Outputs.(*task.Regression)
		switch {
		case inJSON(t, o.Likelihood) != before:
			t.Errorf("%s: the training changed its settings", p.name)
		case m.Task.Likelihood().Kind() != likelihood.Number && r.Std != nil:
			t.Errorf("%s: targets are scaled by %v", p.name, r.Std)
		case p.name == "student-t" && (math.Abs(r.Mean[0]-50) > 3 || r.Std[0] > 20):
			t.Errorf("%s: mean %v and standard deviation %v", p.name, r.Mean, r.Std)
		case p.name == "censored" && (len(r.Std) != 1 || math.Abs(r.Mean[0]-98) > 10 || r.Std[0] > 25):
			t.Errorf("%s: mean %v and standard deviation %v", p.name, r.Mean, r.Std)
		}
	}
}

// TestModelledRefusals: a target that the model refuses, a model of classes, wrong settings and other numbers of columns
// are errors of one line.
func TestModelledRefusals(t *testing.T) {
	for _, p := range modelledProblems {
		set := p.set(50, 1)
		copy(set.Y.Float64s()[3*len(p.columns):], p.bad)
		_, err := Train(t.Context(), set, p.options(t, "float64"))
		oneLine(t, err, "train: ", p.refusal)
	}
	set := modelledProblems[2].set(50, 1)
	for name, want := range map[string]string{
		"softmax":                              "the likelihood softmax of a regression",
		"censored":                             "1 columns of targets for the likelihood censored, expected 2 for each target",
		"poisson exposure":                     "1 columns of targets for the likelihood poisson, expected 2",
		"heteroscedastic nu=3":                 "nu 3 with Gaussian tails",
		"heteroscedastic tails=student-t nu=3": "1 columns of targets",
	} {
		words := strings.Fields(name)
		_, err := Train(t.Context(), set, modelled{name: words[0], settings: words[1:]}.options(t, "float64"))
		oneLine(t, err, want)
	}
	o := modelledProblems[0].options(t, "float64")
	o.Classes = true
	_, err := Train(t.Context(), set, o)
	oneLine(t, err, "classes with a likelihood, expected one of the two")
}

// TestGaussianLikelihood: Gaussian noise by its name is the default, bit for bit.
func TestGaussianLikelihood(t *testing.T) {
	set, o := wave(100, 1), quickTrain()
	o.Training.Iterations = 20
	plain, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	if o.Likelihood, err = likelihood.Named("gaussian"); err != nil {
		t.Fatal(err)
	}
	named, err := Train(t.Context(), set, o)
	if err != nil || !slices.Equal(numbers(predict(t, plain, set.X)), numbers(predict(t, named, set.X))) || named.Task.Outputs.(*task.Regression).Model != nil {
		t.Errorf("the likelihood gaussian is not the default, error %v", err)
	}
}

// TestModelledResume: a training that goes on from a checkpoint has the parameters of one that was not interrupted, and
// the checkpoint of another model is refused.
func TestModelledResume(t *testing.T) {
	p := modelledProblems[2]
	set, o := p.set(100, 1), p.options(t, "float64")
	o.Training.Iterations, o.Training.ValidateEvery = 60, 10
	whole, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o.Checkpoint = filepath.Join(t.TempDir(), "state")
	o.OnProgress = func(p train.Progress) {
		if p.Done == 30 {
			cancel()
		}
	}
	if _, err := Train(ctx, set, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	o.Resume, o.OnProgress = true, nil
	m, err := Train(t.Context(), set, o)
	if err != nil || m.NoiseVariance() != whole.NoiseVariance() || !slices.Equal(numbers(predict(t, m, set.X)), numbers(predict(t, whole, set.X))) {
		t.Errorf("the resumed training is another, error %v", err)
	}
	o.Likelihood = modelled{name: "mixture", settings: []string{"parts=2"}}.options(t, "float64").Likelihood
	_, err = Train(t.Context(), set, o)
	oneLine(t, err, "checkpoint")
}

// TestSampleNoise: targets that are drawn from samples of functions have the predictive distribution of each row, with an
// observation model and with laws of residuals.
func TestSampleNoise(t *testing.T) {
	const many = 4000
	heavy := modelledProblems[2]
	lawful := heavy.options(t, "float64")
	lawful.Likelihood = nil
	for name, o := range map[string]TrainOptions{"poisson": modelledProblems[0].options(t, "float64"), "student-t": heavy.options(t, "float64"), "laws": lawful} {
		p := heavy
		if name == "poisson" {
			p = modelledProblems[0]
		}
		set, x := p.set(300, 1), p.set(3, 2).X
		m, err := Train(t.Context(), set, o)
		if err != nil {
			t.Fatal(err)
		}
		m = fit(t, m, set, FitOptions{Settings: &laplace.Settings{Weights: []string{"last-layer"}}, Law: law.StudentT})
		if (len(m.Laws) > 0) != (name == "laws") {
			t.Fatalf("%s: the laws %v", name, m.Laws)
		}
		all, prediction := drawn(t, m, x, SampleOptions{Samples: many, Noise: true, Seed: 5}), predict(t, m, x)
		for i := range 3 {
			d := prediction.Distribution(i, 0)
			for _, level := range []float64{0.05, 0.5, 0.9} {
				at, below := d.Quantile(level), 0.0
				for s := range many {
					if all[s*3+i] <= at {
						below += 1.0 / many
					}
				}
				if want := d.CDF(at); math.Abs(below-want) > 0.03 {
					t.Errorf("%s: row %d: %.3f of the draws are at most %g, expected %.3f", name, i, below, at, want)
				}
			}
		}
	}
}

// TestModelledCalibration: a temperature needs Gaussian noise or logits, and conformal intervals need targets of one
// number.
func TestModelledCalibration(t *testing.T) {
	for _, p := range modelledProblems {
		o := p.options(t, "float64")
		o.Training.Iterations = 1
		set := p.set(60, 1)
		m, err := Train(t.Context(), set, o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Calibrate(t.Context(), set, CalibrateOptions{})
		oneLine(t, err, "temperature", p.name)
		_, err = m.Calibrate(t.Context(), set, CalibrateOptions{Method: CalibrateConformal})
		if p.name != "censored" {
			if err != nil {
				t.Errorf("%s: conformal intervals: %v", p.name, err)
			}
			continue
		}
		oneLine(t, err, "conformal", p.name)
	}
}
