package valla

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// newProblem is a small regression problem with a network of so many outputs, or a
// classification problem.
func newProblem(t testing.TB, dt tensor.Dtype, outputs int, classes bool) gp.Problem {
	t.Helper()
	p := small.Task{Seed: [2]uint64{4, 4}, Dtype: dt, Rows: 40, Held: 15, Hidden: []int{8}, Outputs: outputs, Classes: classes, Std: 1}.Problem(t)
	if !classes {
		p.Likelihood = likelihood.NewGaussian(0.2, tensor.Float64)
	}
	return p
}

func fit(t testing.TB, s Settings, p gp.Problem, r gp.Run) *gp.Fitted {
	t.Helper()
	return small.Fit(t, &s, p, r)
}

// describe is the whole of a posterior, bit for bit.
func describe(t testing.TB, f *gp.Fitted) string {
	t.Helper()
	s, err := f.Posterior.State()
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%+v noise %x", s.Header, f.NoiseVariance)
	for _, a := range s.Arrays {
		text += fmt.Sprintf(" %s %v %x", a.Name, a.Value.Shape(), graph.Floats(a.Value))
	}
	return text
}

var scatter = regexp.MustCompile(`Scatter:[0-9.e-]+`)

// TestSettingsAreTheFits: Settings.Fit does what Fit and Natural do with the layer of
// k-means and the documented defaults, bit for bit.
func TestSettingsAreTheFits(t *testing.T) {
	const seed = 5
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		for _, classes := range []bool{false, true} {
			for _, optimizer := range []string{"natural", "adam"} {
				p := newProblem(t, dt, 3, classes)
				z, class, err := gp.KMeans(p, 7, false, data.KMeansPlusPlus, rand.New(rand.NewPCG(seed, 2)))
				if err != nil {
					t.Fatal(err)
				}
				layer, err := NewLayer(jacobian.NTK{Net: p.Net}, z, class)
				if err != nil {
					t.Fatal(err)
				}
				lik, v := p.Likelihood.Copy(dt), p.Validation
				if optimizer == "adam" {
					f := adamFit{Net: p.Net, Layer: layer, Likelihood: lik, Seed: seed, ValidationX: v.X, ValidationY: v.Y,
						Config: train.Config{Iterations: 250, Patience: 10}}
					_, err = f.Run(ctx, p.Train.X, p.Train.Y)
				} else {
					f := naturalFit{Net: p.Net, Layer: layer, Likelihood: lik, Seed: seed, ValidationX: v.X, ValidationY: v.Y,
						Config: train.Config{Iterations: 40}}
					_, err = f.Run(ctx, p.Train.X, p.Train.Y)
				}
				if err != nil {
					t.Fatal(err)
				}
				want := describe(t, &gp.Fitted{Posterior: newPosterior(p.Net, layer), NoiseVariance: likelihood.NoiseVariance(lik)})
				s := Settings{Optimizer: optimizer, Inducing: 7, Iterations: 40, LearningRate: 0.01}
				if optimizer == "adam" {
					s.Iterations, s.LearningRate = 250, 0
				}
				got := fit(t, s, p, gp.Run{Seed: seed})
				if of, _, _ := strings.Cut(scatter.ReplaceAllString(describe(t, got), "Scatter:0"), " valla.l_epistemic"); of != want {
					t.Errorf("%v, classes %t, %s: another posterior\n%s\n%s", dt, classes, optimizer, of, want)
				}
			}
		}
	}
}

// TestDefaults: what the zero values stand for, as the record shows it.
func TestDefaults(t *testing.T) {
	cases := []struct {
		s       Settings
		classes bool
		rows    int
		want    string
	}{
		{Settings{}, false, 40, "iterations:200 batch-size:40 learning-rate:0.022360679774997897 schedule:cosine validate-every:10 patience:10"},
		{Settings{}, true, 30_000, "iterations:2000 batch-size:100 learning-rate:0.01 schedule:cosine validate-every:100 patience:10"},
		{Settings{}, false, 62_500, "iterations:400 batch-size:500 learning-rate:0.0158113883008419 schedule:cosine validate-every:20 patience:10"},
		{Settings{}, false, 8000, "iterations:200 batch-size:400 learning-rate:0.022360679774997897 schedule:cosine validate-every:10 patience:10"},
		{Settings{}, false, 5_000_000, "iterations:400 batch-size:500 learning-rate:0.0158113883008419 schedule:cosine validate-every:20 patience:10"},
		{Settings{Iterations: 60}, false, 90_000, "iterations:60 batch-size:500 learning-rate:0.03 schedule:cosine validate-every:3 patience:10"},
		{Settings{Patience: new(0)}, false, 40, "iterations:200 patience:0"},
		{Settings{Optimizer: "adam"}, false, 500, "iterations:40000 batch-size:100 learning-rate:0.001 schedule:constant validate-every:100 patience:10"},
		{Settings{Optimizer: "adam", KeepLast: true}, true, 500, "iterations:40000 batch-size:100 learning-rate:0.001 schedule:constant validate-every:100 patience:0"},
	}
	for _, c := range cases {
		p := newProblem(t, tensor.Float64, 2, c.classes)
		p.Train = p.Train.Rows(make([]int, c.rows))
		got, _, err := c.s.complete(p, 4<<30)
		if err != nil {
			t.Fatal(err)
		}
		m := map[string]string{}
		for _, f := range settings.Of(&got) {
			m[f.Name] = f.Text()
		}
		for _, pair := range strings.Fields(c.want + " inducing:100 init:kmeans++ alpha:1 prior-std:1 noise-std:") {
			name, value, _ := strings.Cut(pair, ":")
			if m[name] != value {
				t.Errorf("%+v on %d rows: %s is %q, want %q", c.s, c.rows, name, m[name], value)
			}
		}
	}
}

// TestCostlyDefaults: the operations of all steps of a fit are bounded, so that a fit to a network whose weights are
// used at many places makes fewer steps of inducing points that rest, validates fewer times, and has fewer inducing points or the
// last layer's weights alone; what is set stays.
func TestCostlyDefaults(t *testing.T) {
	perceptron := layers.MLP{Inputs: 784, Hidden: []int{200, 200}, Outputs: 10, Activation: "tanh"}
	small := layers.CNN{Channels: 3, Height: 32, Width: 32, Filters: []int{16, 32, 8}, Outputs: 10, Activation: "relu"}
	residual := layers.ResNet{Channels: 3, Height: 32, Width: 32, Blocks: []int{3, 3, 3}, Outputs: 10, Shortcut: layers.Projection}
	large := layers.CNN{Channels: 3, Height: 32, Width: 32, Filters: []int{128, 256, 256}, Outputs: 10, Activation: "relu"}
	larger := layers.CNN{Channels: 3, Height: 32, Width: 32, Filters: []int{512, 512, 512}, Outputs: 10, Activation: "relu"}
	for _, c := range []struct {
		form                        layers.Form
		s                           Settings
		iterations, every, inducing int
		weights                     string
		rests                       bool
	}{
		{perceptron, Settings{}, 2000, 100, 100, "all", false},
		{perceptron, Settings{FixInducing: true}, 2000, 100, 100, "all", true},
		{small, Settings{}, 394, 20, 100, "all", false},
		{small, Settings{Weights: []string{"last-layer"}}, 1839, 91, 100, "last-layer", false},
		{residual, Settings{}, 30, 6, 100, "all", true},
		{residual, Settings{Iterations: 400, ValidateEvery: 7}, 400, 7, 50, "all", false},
		{residual, Settings{Inducing: 70}, 30, 6, 70, "all", true},
		{large, Settings{}, 30, 6, 100, "all", true},
		{larger, Settings{}, 30, 6, 100, "last-layer", true},
		{larger, Settings{Weights: []string{"all"}}, 30, 6, 20, "all", true},
	} {
		net, err := layers.Build(c.form, tensor.Float32, rand.New(rand.NewPCG(1, 2)))
		if err != nil {
			t.Fatal(err)
		}
		e := gp.Examples{X: tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(append([]int{600}, c.form.InputShape()...)...)), Y: tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(600, 10))}
		for i := range 600 {
			e.Y.Float32s()[10*i+i%10] = 1
		}
		p := gp.Problem{Net: net, Likelihood: likelihood.Softmax{}, Train: e, Validation: &e}
		got, _, _, err := c.s.resolve(t.Context(), p, gp.Run{})
		if err != nil {
			t.Fatal(err)
		}
		if weights := cmp.Or(strings.Join(got.Weights, ""), "all"); got.Iterations != c.iterations || got.ValidateEvery != c.every || got.Inducing != c.inducing || weights != c.weights || got.FixInducing != c.rests {
			t.Errorf("%v, %+v: %d iterations, validated every %d, %d inducing points that rest %t, weights %s, expected %d, %d, %d, %t and %s", c.form, c.s,
				got.Iterations, got.ValidateEvery, got.Inducing, got.FixInducing, weights, c.iterations, c.every, c.inducing, c.rests, c.weights)
		}
		if chosen := c.s.Weights == nil && c.weights == layers.LastLayerWeights; c.s.lastLayerBy(got) != chosen {
			t.Errorf("%v, %+v: the defaults have chosen the last layer: %t", c.form, c.s, !chosen)
		}
	}
}

// TestBadSettings: values out of range and combinations that make no sense are refused in
// one line that names them.
func TestBadSettings(t *testing.T) {
	const regression, classes, unheld = "regression", "classes", "no validation rows"
	for _, c := range []struct {
		problem, want string
		s             Settings
	}{
		{regression, "inducing", Settings{Inducing: -1}},
		{regression, "optimizer", Settings{Optimizer: "sgd"}},
		{regression, "alpha", Settings{Alpha: new(1.5)}},
		{regression, "prior-std", Settings{PriorStd: -1}},
		{regression, "learning-rate", Settings{LearningRate: math.Inf(1)}},
		{regression, "optimal-a", Settings{OptimalA: true}},
		{regression, "patience 3 together with keep-last", Settings{Optimizer: "adam", Patience: new(3), KeepLast: true}},
		{unheld, "patience 3 without validation rows", Settings{Optimizer: "adam", Patience: new(3)}},
		{classes, "noise-std 0.1 with classes", Settings{NoiseStd: 0.1}},
		{classes, "fix-noise with classes", Settings{FixNoise: true}},
		{classes, "optimal-a with classes", Settings{Optimizer: "adam", OptimalA: true}},
		{classes, "alpha 0 with classes", Settings{Alpha: new(0.0)}},
	} {
		p := newProblem(t, tensor.Float64, 2, c.problem == classes)
		if c.problem == unheld {
			p.Validation = nil
		}
		f, err := c.s.Fit(t.Context(), p, gp.Run{})
		if f != nil || !errors.Is(err, settings.ErrSetting) {
			t.Errorf("%s, %+v: %v, want an error that wraps ErrSetting", c.problem, c.s, err)
		}
		wants(t, c.problem, err, c.want)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("error of several lines: %v", err)
		}
	}
	if _, err := (&Settings{}).Fit(t.Context(), gp.Problem{}, gp.Run{}); !errors.Is(err, gp.ErrProblem) {
		t.Errorf("without a problem: %v", err)
	}
}

// TestLabels: the label names the posterior, and Adam.
func TestLabels(t *testing.T) {
	for want, s := range map[string]Settings{
		"VaLLA 100": {}, "VaLLA 20": {Inducing: 20, Optimizer: "natural"}, "VaLLA 20 Adam": {Inducing: 20, Optimizer: "adam"},
	} {
		if got := s.Label(); got != want {
			t.Errorf("label %q, want %q", got, want)
		}
	}
	f := fit(t, Settings{Inducing: 4, Iterations: 2, Optimizer: "adam"}, newProblem(t, tensor.Float64, 1, false), gp.Run{})
	if got := f.Posterior.String(); got != "VaLLA 4" {
		t.Errorf("posterior %q, want VaLLA 4", got)
	}
}

// TestRecord: what a fit says of itself.
func TestRecord(t *testing.T) {
	p := newProblem(t, tensor.Float64, 2, false)
	f := fit(t, Settings{Inducing: 6, Iterations: 20, Patience: new(0), NoiseStd: 0.5, FixNoise: true, FixPrior: true, PriorStd: 0.3, FixInducing: true}, p, gp.Run{})
	r := f.Record
	if r.Rows != 40 || r.ValidationRows != 15 || r.Result.Iterations != 20 || len(r.Result.History) != 20 || len(r.Notes) != 0 {
		t.Errorf("record %+v", r)
	}
	if math.Abs(f.NoiseVariance-0.25) > 1e-15 || len(r.PriorStds) != 1 || math.Abs(r.PriorStds[0]-0.3) > 1e-15 {
		t.Errorf("noise variance %g and prior stds %v, want 0.25 and 0.3 as given", f.NoiseVariance, r.PriorStds)
	}
	if r.Settings["batch-size"] != 40 || r.Settings["noise-std"] != 0.5 || r.Settings["optimizer"] != "natural" {
		t.Errorf("settings %v", r.Settings)
	}
	start, now := f.Posterior.(*posterior).InducingInputs()
	if !slices.Equal(start.Float64s(), now.Float64s()) {
		t.Error("fixed inducing inputs have moved")
	}
	moved := fit(t, Settings{Inducing: 6, Iterations: 20}, p, gp.Run{})
	if start, now := moved.Posterior.(*posterior).InducingInputs(); slices.Equal(start.Float64s(), now.Float64s()) {
		t.Error("free inducing inputs have not moved, or the start follows them")
	}
	if variance := p.Likelihood.(likelihood.Gaussian).Variance(); math.Abs(variance-0.2) > 1e-15 {
		t.Errorf("the problem's noise variance is now %g", variance)
	}
}

// TestNotes: another number of inducing points than asked for is noted in a sentence.
func TestNotes(t *testing.T) {
	p := newProblem(t, tensor.Float64, 3, false)
	p.Train = p.Train.Rows([]int{0, 1, 2, 3, 3, 3})
	for want, s := range map[string]Settings{
		"12 inducing points instead of 20: there are no more different inputs.":    {Inducing: 20},
		"3 inducing points instead of 1: each output has at least one.":            {Inducing: 1},
		"6 inducing points instead of 9: there are no more inputs to choose from.": {Inducing: 9, Init: "greedy"},
	} {
		s.Iterations = 1
		f := fit(t, s, p, gp.Run{})
		if !slices.Equal(f.Record.Notes, []string{want}) {
			t.Errorf("notes %q, want %q", f.Record.Notes, want)
		}
	}
	p = newProblem(t, tensor.Float64, 2, true)
	p.Train = p.Train.Rows(slices.DeleteFunc(dense.Indices(p.Train.N()), func(i int) bool { return i > 1 && p.Train.Y.Float64s()[2*i] == 1 }))
	want := "a class has fewer different inputs than its share of the points."
	if f := fit(t, Settings{Inducing: 10, Iterations: 1}, p, gp.Run{}); !slices.ContainsFunc(f.Record.Notes, func(n string) bool { return strings.HasSuffix(n, want) }) {
		t.Errorf("notes %q, want %q", f.Record.Notes, want)
	}
}

// TestOptimalStart: with optimal-a, Adam starts from the closed form; a fit that keeps all
// else and steps hardly at all stays there.
func TestOptimalStart(t *testing.T) {
	p := newProblem(t, tensor.Float64, 2, false)
	s := Settings{Optimizer: "adam", OptimalA: true, FixPrior: true, FixNoise: true, FixInducing: true, Inducing: 6, Iterations: 1, LearningRate: 1e-14}
	f := fit(t, s, p, gp.Run{Seed: 1})
	z, class, err := gp.KMeans(p, 6, false, data.KMeansPlusPlus, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	layer, err := NewLayer(jacobian.NTK{Net: p.Net}, z, class)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := layer.OptimalA(ctx, p.Train.X, 0.2); err != nil {
		t.Fatal(err)
	}
	g, err := gp.Predict(ctx, f.Posterior, p.Validation.X)
	if err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, "covariance", g.Cov, variances(t, p.Net, layer, p.Validation.X), 1e-8)
}

// TestKeepLast: the last state stays although the validation liked another one better.
func TestKeepLast(t *testing.T) {
	p := newProblem(t, tensor.Float64, 1, false)
	for _, optimizer := range []string{"adam", "natural"} {
		s := Settings{Optimizer: optimizer, Inducing: 5, Iterations: 60, LearningRate: 0.3, ValidateEvery: 1}
		best := fit(t, s, p, gp.Run{})
		s.KeepLast = true
		last := fit(t, s, p, gp.Run{})
		if r := last.Record.Result; r.BestIteration == 60 || r.BestIteration == 0 || r.Iterations != 60 {
			t.Fatalf("%s: best after %d of %d steps; the test needs one before the last", optimizer, r.BestIteration, r.Iterations)
		}
		value := func(f *gp.Fitted) float64 {
			return validationNLL(t, f.Posterior, likelihood.NewGaussian(f.NoiseVariance, tensor.Float64), p.Validation.X, p.Validation.Y)
		}
		if !(value(last) > value(best)) {
			t.Errorf("%s: validation NLL %g of the last state, %g of the best", optimizer, value(last), value(best))
		}
	}
}

// TestInterruptedFit: a context that ends gives the state so far with its error.
func TestInterruptedFit(t *testing.T) {
	for _, optimizer := range []string{"adam", "natural"} {
		c, cancel := context.WithCancel(t.Context())
		s := Settings{Optimizer: optimizer, Inducing: 5, Iterations: 30}
		f, err := s.Fit(c, newProblem(t, tensor.Float64, 1, false), gp.Run{OnProgress: func(p train.Progress) {
			if p.Done == 7 {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) || f == nil || f.Record.Result.Iterations != 7 {
			t.Errorf("%s: %+v, %v, want a state after 7 steps and the context's error", optimizer, f, err)
		}
	}
}

// TestMemoryOfSettings: a run with too little memory is refused as a *graph.MemoryError.
func TestMemoryOfSettings(t *testing.T) {
	for _, optimizer := range []string{"adam", "natural"} {
		s := Settings{Optimizer: optimizer, Inducing: 5, Iterations: 3}
		f, err := s.Fit(t.Context(), newProblem(t, tensor.Float64, 1, false), gp.Run{Memory: 1000})
		if !errors.As(err, new(*graph.MemoryError)) || f != nil {
			t.Errorf("%s: %v, want a MemoryError", optimizer, err)
		}
	}
}

// TestFittedKeepsThePromises: posteriors of both optimizers and tasks are posteriors.
func TestFittedKeepsThePromises(t *testing.T) {
	for _, optimizer := range []string{"adam", "natural"} {
		for _, classes := range []bool{false, true} {
			p := newProblem(t, tensor.Float64, 2, classes)
			f := fit(t, Settings{Optimizer: optimizer, Inducing: 6, Iterations: 20}, p, gp.Run{})
			gptest.Check(t, gptest.Case{
				Posterior: f.Posterior, X: p.Validation.X, Net: p.Net,
				Prior: jacobian.NTK{Net: p.Net}, PriorVariance: f.Record.PriorStds[0] * f.Record.PriorStds[0],
			})
		}
	}
}

// saved is a posterior's state as a file would give it back.
type saved struct {
	header []byte
	arrays map[string]*tensor.Dense
}

func save(t testing.TB, p gp.Stored) saved {
	t.Helper()
	s, err := p.State()
	if err != nil {
		t.Fatal(err)
	}
	out := saved{arrays: map[string]*tensor.Dense{}}
	if out.header, err = json.Marshal(s.Header); err != nil {
		t.Fatal(err)
	}
	for _, a := range s.Arrays {
		out.arrays[a.Name] = a.Value.Clone().(*tensor.Dense)
	}
	return out
}

func (s saved) Header(v any) error {
	d := json.NewDecoder(bytes.NewReader(s.header))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

func (s saved) Array(name string, dt tensor.Dtype, shape ...int) (*tensor.Dense, error) {
	a := s.arrays[name]
	if a == nil || a.Dtype() != dt || !slices.Equal(a.Shape(), shape) {
		return nil, fmt.Errorf("%s is %v, expected %v %v", name, a, dt, shape)
	}
	return a, nil
}

// TestRestore: a posterior put together again predicts the same, bit for bit, also from
// the header of older files.
func TestRestore(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		for _, outputs := range []int{1, 3} {
			p := newProblem(t, dt, outputs, outputs > 1)
			f := fit(t, Settings{Inducing: 6, Iterations: 10}, p, gp.Run{})
			want, err := gp.Predict(ctx, f.Posterior, p.Validation.X)
			if err != nil {
				t.Fatal(err)
			}
			file := save(t, f.Posterior)
			old := saved{[]byte(strings.Replace(string(file.header), `,"inputs":[2]`, "", 1)), file.arrays}
			if bytes.Equal(old.header, file.header) || outputs == 1 && !strings.HasPrefix(string(old.header), `{"inducing":6,"scatter":`) {
				t.Fatalf("headers %s and %s", file.header, old.header)
			}
			for _, s := range []saved{file, old} {
				again, err := Method.Restore(ctx, p.Net, p.Likelihood, s)
				if err != nil {
					t.Fatal(err)
				}
				got, err := gp.Predict(ctx, again, p.Validation.X)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got.Cov, want.Cov) || again.String() != "VaLLA 6" {
					t.Errorf("%v, %d outputs: %s predicts other covariances than %s", dt, outputs, again, f.Posterior)
				}
				if start, now := again.(*posterior).InducingInputs(); start != nil || now.Shape()[0] != 6 {
					t.Errorf("inducing inputs %v before the fit and %v now", start, now.Shape())
				}
			}
		}
	}
}

// TestRestoreImages: inputs of any shape come back.
func TestRestoreImages(t *testing.T) {
	f, x, _ := imageFit(t, 4, 5)
	post := newPosterior(f.Net, f.Layer)
	again, err := restore(ctx, f.Net, f.Likelihood, save(t, post))
	if err != nil {
		t.Fatal(err)
	}
	want, err := gp.Predict(ctx, post, x)
	if err != nil {
		t.Fatal(err)
	}
	got, err := gp.Predict(ctx, again, x)
	if err != nil || !slices.Equal(got.Cov, want.Cov) {
		t.Errorf("other covariances, or %v", err)
	}
}

// TestRestoreErrors: states that do not belong to the network.
func TestRestoreErrors(t *testing.T) {
	p := newProblem(t, tensor.Float64, 2, true)
	f := fit(t, Settings{Inducing: 4, Iterations: 2}, p, gp.Run{})
	wide := func(s *saved) { s.arrays["valla.z"] = small.Normal(rand.New(rand.NewPCG(1, 1)), tensor.Float64, 4, 3) }
	for what, c := range map[string]struct {
		header string
		change func(s *saved)
		want   string
	}{
		"no points":       {`{"inducing":0}`, nil, "0 inducing points"},
		"too many":        {`{"inducing":3000000000}`, nil, "3000000000 inducing points"},
		"unknown key":     {`{"inducing":4,"rank":2}`, nil, "rank"},
		"other M":         {`{"inducing":5,"class":[0,0,1,1,1],"inputs":[2]}`, nil, "valla.z"},
		"an empty input":  {`{"inducing":4,"inputs":[0]}`, nil, "positive sizes"},
		"other inputs":    {`{"inducing":4,"class":[0,0,1,1],"inputs":[3]}`, wide, "inputs of shape [3]"},
		"class too large": {`{"inducing":4,"class":[0,0,1,2],"inputs":[2]}`, nil, "class[3] is 2, the network has 2 outputs"},
		"negative class":  {`{"inducing":4,"class":[0,0,1,-1],"inputs":[2]}`, nil, "class[3] is -1"},
		"few classes":     {`{"inducing":4,"class":[0,0,1],"inputs":[2]}`, nil, "3 classes for 4"},
		"no L":            {`{"inducing":4,"inputs":[2]}`, func(s *saved) { delete(s.arrays, "valla.l") }, "valla.l"},
		"no σ₀":           {`{"inducing":4,"inputs":[2]}`, func(s *saved) { delete(s.arrays, "valla.log_prior_std") }, "valla.log_prior_std"},
	} {
		s := save(t, f.Posterior)
		s.header = []byte(c.header)
		if c.change != nil {
			c.change(&s)
		}
		_, err := restore(ctx, p.Net, p.Likelihood, s)
		wants(t, what, err, c.want)
	}
	if _, err := restore(ctx, layers.Sequential{}, p.Likelihood, save(t, f.Posterior)); err == nil {
		t.Error("a posterior on a network without parameters")
	}
}

// TestTwoOutputsAreExact: regression with two outputs and one noise variance: with all
// inputs inducing for both outputs, natural gradients with α = 0 give the exact posterior
// κ − κ_xX (κ_XX + σ²I)⁻¹ κ_Xx over all outputs, computed densely.
func TestTwoOutputsAreExact(t *testing.T) {
	p := newProblem(t, tensor.Float64, 2, false)
	p.Train = p.Train.Rows([]int{0, 1, 2, 3, 4, 5, 6, 7})
	p.Validation = nil
	s := Settings{Inducing: 16, Alpha: new(0.0), PriorStd: 0.7, FixPrior: true, FixNoise: true, FixInducing: true, Iterations: 1}
	f := fit(t, s, p, gp.Run{})
	if f.Record.Notes != nil {
		t.Fatal(f.Record.Notes)
	}
	x := small.Normal(rand.New(rand.NewPCG(8, 8)), tensor.Float64, 5, 2)
	got, err := gp.Predict(ctx, f.Posterior, x)
	if err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, "covariance", got.Cov, exactCovariance(t, p, x, 0.49, 0.2), 1e-6)
}

// exactCovariance returns exact linearized Laplace's covariance at x, [N,C,C] one after the other.
func exactCovariance(t *testing.T, p gp.Problem, x *tensor.Dense, prior, noise float64) []float64 {
	t.Helper()
	c := p.Outputs()
	points := func(x *tensor.Dense) (*tensor.Dense, []int) {
		var rows, class []int
		for i := range x.Shape()[0] * c {
			rows, class = append(rows, i/c), append(class, i%c)
		}
		return data.TakeRows(x, rows), class
	}
	n, m := x.Shape()[0]*c, p.Train.N()*c
	px, cx := points(x)
	pt, ct := points(p.Train.X)
	all, err := tensor.Concat(0, px, pt)
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(tensor.Float64)
	gram := jacobian.NTK{Net: p.Net}.Gram(b, small.Given(b, "points", all.(*tensor.Dense)), append(cx, ct...))
	k := mat.NewDense(n+m, n+m, compile(t, b, gram).values(t)[0])
	k.Scale(prior, k)
	noisy := mat.DenseCopyOf(k.Slice(n, n+m, n, n+m))
	for i := range m {
		noisy.Set(i, i, noisy.At(i, i)+noise)
	}
	q := product(k.Slice(0, n, n, n+m), inverse(t, noisy), k.Slice(n, n+m, 0, n))
	q.Sub(k.Slice(0, n, 0, n), q)
	var out []float64
	for i := 0; i < n; i += c {
		out = append(out, mat.DenseCopyOf(q.Slice(i, i+c, i, i+c)).RawMatrix().Data...)
	}
	return out
}

// TestNotesOfGreedy: where the candidates are alike, the greedy choice ends early.
func TestNotesOfGreedy(t *testing.T) {
	p := newProblem(t, tensor.Float64, 1, false)
	p.Train = p.Train.Rows([]int{0, 0, 1, 0})
	f := fit(t, Settings{Inducing: 3, Init: "greedy", Iterations: 1}, p, gp.Run{})
	want := "2 inducing points instead of 3: those leave the training inputs no variance."
	if !slices.Equal(f.Record.Notes, []string{want}) {
		t.Errorf("notes %q, want %q", f.Record.Notes, want)
	}
}
