package valla

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/fmgp"
	"github.com/go-valla/valla/gp/gapa"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/mfvi"
	"github.com/go-valla/valla/gp/sngp"
	"github.com/go-valla/valla/gp/task"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/layers"
)

// variancePath is a perceptron of five inputs with a head for the mean and one for the logarithm of the variance.
const variancePath = "layers/onnx/testdata/gallery/variance.onnx"

// varianceRows are n rows whose last input is 0 or 1.
func varianceRows(n int) *data.Set {
	rng := holdout.Rand(9, 0)
	x, y := make([]float64, n*5), make([]float64, n)
	for i := range x {
		if x[i] = rng.NormFloat64(); i%5 == 4 {
			x[i] = float64(i / 5 % 2)
		}
	}
	for i := range y {
		y[i] = 0.5 * rng.NormFloat64()
	}
	return &data.Set{X: denseOf(x, n, 5), Y: denseOf(y, n, 1), Features: []string{"a", "b", "c", "d", "e"}, Targets: []string{"u"}}
}

// withLogVariance is the network of variancePath for a set, with the log variance w·x + c of the inputs x in place of its
// own.
func withLogVariance(t *testing.T, set *data.Set, c float64, w ...float64) *Model {
	t.Helper()
	m, err := FromWeights(t.Context(), variancePath, set, WeightOptions{NoiseHead: task.LogVariance})
	if err != nil {
		t.Fatal(err)
	}
	s := m.Task.Scale
	s.Form = layers.MLP{Inputs: 5, Outputs: 1, Activation: "tanh"}
	net, err := layers.Build(s.Form, m.Dtype(), holdout.Rand(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	s.Own(net)
	for _, p := range s.Net.Params() {
		for i := range p.Value.Shape().TotalSize() {
			p.Set(i, slices.Concat(w, []float64{0, 0, 0, 0, 0})[i])
			if p.Value.Shape().TotalSize() == 1 {
				p.Set(i, c)
			}
		}
	}
	m.estimated(t, set)
	return m
}

// estimated sets the noise of the network alone anew.
func (m *Model) estimated(t *testing.T, set *data.Set) {
	t.Helper()
	e, err := m.Task.Examples(set, m.Dtype())
	if err == nil {
		err = m.estimateNoise(t.Context(), e)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// same compares two lists of numbers.
func same(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= tolerance*max(1e-3, math.Abs(w))) {
			t.Errorf("%s: number %d is %.12g, want %.12g", what, i, got[i], w)
			return
		}
	}
}

// TestNoiseHeadConstant: with one variance for all rows the model is that of Gaussian noise.
func TestNoiseHeadConstant(t *testing.T) {
	set := varianceRows(60)
	head := withLogVariance(t, set, math.Log(0.3))
	plain, err := FromWeights(t.Context(), variancePath, set, WeightOptions{Network: Network{Output: []string{"mean"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := 0.3*head.NoiseVariance(), plain.NoiseVariance(); math.Abs(got-want) > 1e-12 {
		t.Errorf("noise variance %g of the network alone, want %g", got, want)
	}
	for name, s := range map[string]gp.Settings{
		"lla": &laplace.Settings{}, "kfac": &laplace.Settings{Structure: "kfac"},
		"valla": &vallagp.Settings{Iterations: 20, Inducing: 10, BatchSize: 60},
	} {
		o := FitOptions{Settings: s, Validation: new(0.2)}
		a, b := fit(t, head, set, o), fit(t, plain, set, o)
		p, q := predict(t, a, set.X), predict(t, b, set.X)
		same(t, name+": mean", p.Mean, q.Mean, 1e-9)
		same(t, name+": latent variance", p.Latent, q.Latent, 1e-6)
		same(t, name+": variance", p.Variance, q.Variance, 1e-6)
		same(t, name+": quantile", p.Quantiles(0.9), q.Quantiles(0.9), 1e-6)
		same(t, name+": NLL", []float64{nllOf(t, a, set)}, []float64{nllOf(t, b, set)}, 1e-6)
	}
}

// nllOf returns the NLL of a model on a set.
func nllOf(t *testing.T, m *Model, set *data.Set) float64 {
	t.Helper()
	s, err := m.Evaluate(t.Context(), set, PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s.NLL()
}

// TestNoiseHeadRepeated: rows of half the variance count like two rows.
func TestNoiseHeadRepeated(t *testing.T) {
	set := varianceRows(40)
	var rows []int
	for i := range 40 {
		if rows = append(rows, i); i%2 == 1 {
			rows = append(rows, i)
		}
	}
	twice := set.Rows(rows)
	head := withLogVariance(t, set, math.Log(0.3), 0, 0, 0, 0, math.Log(0.5))
	plain := withLogVariance(t, twice, math.Log(0.3))
	o := FitOptions{Settings: &laplace.Settings{Hyper: "fixed", PriorStd: 1, NoiseStd: 1}, Validation: new(0.0), Law: "gaussian"}
	a, b := fit(t, head, set, o), fit(t, plain, twice, o)
	p, q := predict(t, a, set.X), predict(t, b, set.X)
	same(t, "mean", p.Mean, q.Mean, 1e-12)
	same(t, "latent variance", p.Latent, q.Latent, 1e-9)
	for i, v := range p.Variance {
		if want := p.Latent[i] + 0.3*math.Pow(0.5, float64(i%2)); math.Abs(v-want) > 1e-12 {
			t.Fatalf("variance %g of row %d, want %g", v, i, want)
		}
	}
}

// TestNoiseHead: the network's own log variances are in the predictions of a model from a file, in its scores, its samples
// and its quantiles, and the heads may be one output.
func TestNoiseHead(t *testing.T) {
	set := varianceRows(60)
	m, err := FromWeights(t.Context(), variancePath, set, WeightOptions{NoiseHead: task.LogVariance})
	if err != nil {
		t.Fatal(err)
	}
	if names := m.Net.Params(); len(names) != 4 {
		t.Errorf("%d parameters, want those of the mean, 4", len(names))
	}
	heavy, err := likelihood.Named("student-t")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []FitOptions{
		{Settings: &laplace.Settings{}}, {Settings: &vallagp.Settings{Iterations: 5, Inducing: 5}, Law: "student-t"}, {Settings: &fmgp.Settings{Iterations: 3, Inducing: 5}},
		{Settings: &laplace.Settings{}, Likelihood: heavy}, {Settings: &mfvi.Settings{Iterations: 3}},
	} {
		f := fit(t, m, set, o)
		comesBack(t, f, set.X)
		back := loaded(t, written(t, f))
		if a, b := nllOf(t, f, set), nllOf(t, back, set); a != b || a-a != 0 {
			t.Errorf("%v: NLL %g, after a file %g", f, a, b)
		}
		p := predict(t, f, set.X)
		unit, err := m.Task.Scale.Posterior().Mean(t.Context(), set.X)
		if err != nil {
			t.Fatal(err)
		}
		for i, u := range unit.Float64s() {
			if d := p.Distribution(i, 0); math.Abs(d.Mean()-p.Mean[i]) > 1e-9 || math.Abs(d.Variance()-p.Variance[i]) > 1e-9*p.Variance[i] || !(p.Aleatoric[i] > 0.01*u*u) {
				t.Errorf("row %d: distribution of mean %g and variance %g, prediction %g and %g, unit %g", i, d.Mean(), d.Variance(), p.Mean[i], p.Variance[i], u)
			}
		}
	}
	for _, s := range []gp.Settings{&gapa.Settings{}, &sngp.Settings{Iterations: 2}} {
		_, err := m.Fit(t.Context(), set, FitOptions{Settings: s})
		oneLine(t, err, "divided by the scale of the noise")
	}
	_, err = m.Export(t.Context(), filepath.Join(t.TempDir(), "m.onnx"), ExportOptions{})
	oneLine(t, err, "a network that tells the noise of each row cannot be exported")
	wrong := WeightOptions{NoiseHead: "std"}
	_, err = FromWeights(t.Context(), variancePath, set, wrong)
	oneLine(t, err, `noise head "std", expected "log-variance" or "variance"`)
	wrong = WeightOptions{NoiseHead: task.LogVariance, Classes: true}
	_, err = FromWeights(t.Context(), variancePath, set, wrong)
	oneLine(t, err, "a noise head of a network of classes")
	_, err = FromWeights(t.Context(), variancePath, set, WeightOptions{NoiseHead: task.Variance}) // of which some are negative
	oneLine(t, err, "row ", "the standard deviation of the noise is NaN, expected a positive number")
	mlp := "layers/onnx/testdata/gallery/mlp.onnx" // whose two outputs are one array
	single, err := FromWeights(t.Context(), mlp, set, WeightOptions{NoiseHead: task.LogVariance})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := FromWeights(t.Context(), mlp, &data.Set{X: set.X, Y: denseOf(make([]float64, 120), 60, 2), Features: set.Features, Targets: []string{"u", "v"}}, WeightOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p, q := predict(t, single, set.X), predict(t, plain, set.X)
	for i, v := range p.Mean {
		if want := single.NoiseVariance() * math.Exp(q.Mean[2*i+1]); math.Abs(v-q.Mean[2*i]) > 1e-12 || math.Abs(p.Variance[i]-want) > 1e-9*want {
			t.Fatalf("row %d: mean %g and variance %g, want %g and %g", i, v, p.Variance[i], q.Mean[2*i], want)
		}
	}
}

// TestNoiseHeadSamples: samples of functions and of targets have the moments of predictions.
func TestNoiseHeadSamples(t *testing.T) {
	const many = 4000
	set := varianceRows(60)
	m := fit(t, withLogVariance(t, set, -1, 0.5, 0, 0, 0, 2), set, FitOptions{Settings: &laplace.Settings{}, Law: "gaussian"})
	x := set.Rows(dense.Indices(4)).X
	p := predict(t, m, x)
	for _, noise := range []bool{false, true} {
		all, want := drawn(t, m, x, SampleOptions{Samples: many, Noise: noise, Seed: 3}), p.Latent
		if noise {
			want = p.Variance
		}
		for i, v := range want {
			sum := 0.0
			for s := range many {
				sum += (all[4*s+i] - p.Mean[i]) * (all[4*s+i] - p.Mean[i]) / many
			}
			if math.Abs(sum/v-1) > 0.12 {
				t.Errorf("row %d, noise %v: variance %g of the samples, want %g", i, noise, sum, v)
			}
		}
	}
}
