package valla

import (
	"context"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/mfvi"
	"github.com/go-valla/valla/gp/sfr"
	"github.com/go-valla/valla/gp/sngp"
	"github.com/go-valla/valla/gp/task"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
)

var (
	oneLine, near = fixture.OneLine, fixture.Near
	wave, thirds  = small.Wave, small.Thirds
	denseOf       = dense.Of
)

var update = flag.Bool("update", false, "draw the pictures of the pages")

var bothTypes = []tensor.Dtype{tensor.Float64, tensor.Float32}

// newTestModel returns a model of two features with random weights and, where inducing > 0,
// a random VaLLA posterior of so many points.
func newTestModel(t testing.TB, dt tensor.Dtype, inducing int, hidden ...int) *Model {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 0))
	form := layers.MLP{Inputs: 2, Hidden: hidden, Outputs: 1, Activation: "tanh"}
	net, err := layers.Build(form, dt, rng)
	if err != nil {
		t.Fatal(err)
	}
	m := &Model{
		Form: form, Net: net,
		Task: task.Task{
			Inputs:  task.Inputs{Features: []string{"a", "b"}, Shape: []int{2}, Mean: []float64{1, -2}, Std: []float64{3, 0.5}},
			Outputs: &task.Regression{Names: []string{"y"}, Mean: []float64{10}, Std: []float64{4}, NoiseVariance: 0.25},
		},
		History: []Event{{Action: ActionTrain, Label: "MAP", Program: "test", Record: gp.Record{Rows: 5}}},
	}
	if inducing > 0 {
		attachRandom(t, m, inducing, rng)
	}
	return m
}

func attachRandom(t testing.TB, m *Model, inducing int, rng *rand.Rand) {
	t.Helper()
	z := make([]float64, 2*inducing)
	for i := range z {
		z[i] = rng.NormFloat64()
	}
	stored := storedVaLLA(t, m.Net, z, []int{2}, make([]int, inducing), func() float64 { return 0.3 * rng.NormFloat64() }, -0.4)
	p := &Posterior{Stored: stored, Method: "valla", NoiseVariance: 0.125}
	if err := m.attach(p, m.fingerprint()); err != nil {
		t.Fatal(err)
	}
}

// attach gives the model a posterior that was fitted to weights with the given fingerprint, as reading a file does.
func (m *Model) attach(p *Posterior, fingerprint string) error {
	if err := otherWeights(m.fingerprint(), fingerprint); err != nil {
		return err
	}
	return m.take(p)
}

// storedVaLLA is VaLLA's posterior with inducing inputs z of a shape each, which carry the outputs
// class. Its L is the identity with off added to each element, log σ₀ is logStd.
func storedVaLLA(t testing.TB, net layers.Network, z []float64, shape, class []int, off func() float64, logStd float64) gp.Stored {
	t.Helper()
	m, dt := len(class), net.Params()[0].Value.Dtype()
	l := make([]float64, m*(m+1)/2)
	for i := range m {
		l[i*(i+3)/2] = 1
	}
	for i := range l {
		l[i] += off()
	}
	saved, err := gptest.Memory(gp.State{Header: map[string]any{"inducing": m, "class": class, "inputs": shape}, Arrays: []gp.Array{
		{Name: "valla.z", Value: graph.NewParam("", z, dt, append([]int{m}, shape...)...).Value},
		{Name: "valla.l", Value: graph.NewParam("", l, dt, len(l)).Value}, {Name: "valla.log_prior_std", Value: graph.NewParam("", []float64{logStd}, dt, 1).Value},
	}})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := vallagp.Method.Restore(context.Background(), net, nil, saved)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// newTestClasses is newTestModel with the three classes 1, 2 and 4 and no posterior.
func newTestClasses(t testing.TB, dt tensor.Dtype, hidden ...int) *Model {
	t.Helper()
	m := newTestModel(t, dt, 0)
	form := layers.MLP{Inputs: 2, Hidden: hidden, Outputs: 3, Activation: "tanh"}
	m.Form, m.Task.Outputs = form, &task.Classification{Name: "y", Classes: []float64{1, 2, 4}}
	var err error
	if m.Net, err = layers.Build(form, dt, rand.New(rand.NewPCG(8, 0))); err != nil {
		t.Fatal(err)
	}
	return m
}

// everyPosterior are small models with all kinds of posteriors, in float64.
func everyPosterior(t testing.TB) map[string]*Model {
	t.Helper()
	all := map[string]*Model{
		"MAP": newTestModel(t, tensor.Float64, 0, 4, 3), "VaLLA 1": newTestModel(t, tensor.Float64, 1, 4, 3),
		"VaLLA 5": newTestModel(t, tensor.Float64, 5, 4, 3), "classes, MAP": newTestClasses(t, tensor.Float64, 3),
		"classes, VaLLA": fit(t, newTestClasses(t, tensor.Float64, 3), thirds(9, 3), FitOptions{
			Settings: &vallagp.Settings{Inducing: 3, Iterations: 2}, Validation: new(0.0)}),
		"VaLLA with α = 0": fit(t, newTestModel(t, tensor.Float64, 0, 3), wave(8, 3), FitOptions{
			Settings: &vallagp.Settings{Inducing: 3, Iterations: 2, Alpha: new(0.0)}, Validation: new(0.0)}),
		"SFR": fit(t, newTestModel(t, tensor.Float64, 0, 3), wave(8, 3), FitOptions{
			Settings: &sfr.Settings{Points: 3, PriorStd: 0.7, OwnMean: true}, Validation: new(0.0)}),
		"MF-VI": fit(t, newTestModel(t, tensor.Float64, 0, 3), wave(8, 3), FitOptions{
			Settings: &mfvi.Settings{LogStd: -2, Samples: 3}, Validation: new(0.0)}),
		"classes, MF-VI": fit(t, newTestClasses(t, tensor.Float64, 3), thirds(9, 3), FitOptions{
			Settings: &mfvi.Settings{LogStd: -2, Samples: 3}, Validation: new(0.0)}),
		"SNGP": fit(t, newTestModel(t, tensor.Float64, 0, 3), wave(8, 3), FitOptions{
			Settings: &sngp.Settings{Features: 5, Iterations: 2}, Validation: new(0.0)}),
		"classes, SNGP": fit(t, newTestClasses(t, tensor.Float64, 3), thirds(9, 3), FitOptions{
			Settings: &sngp.Settings{Features: 5, Iterations: 2, LayerNorm: true}, Validation: new(0.0)}),
		"classes, SFR": fit(t, newTestClasses(t, tensor.Float64, 3), thirds(9, 3), FitOptions{
			Settings: &sfr.Settings{Points: 2, PriorStd: 0.7, Outputs: "joint"}, Validation: new(0.0)}),
	}
	for name, s := range map[string]laplace.Settings{
		"full, function space": {},
		"full, weight space":   {Weights: []string{"dense2.bias"}},
		"last layer":           {Weights: []string{"last-layer"}},
		"kfac, priors":         {Structure: "kfac", Priors: "per-parameter"},
		"diag":                 {Structure: "diag"},
		"lowrank, subset":      {Structure: "lowrank", Rank: 2, Subset: 4},
	} {
		s.Hyper, s.PriorStd = "fixed", 0.7
		all["LLA "+name] = fit(t, newTestModel(t, tensor.Float64, 0, 3), wave(8, 3), FitOptions{Settings: &s, Validation: new(0.0)})
		all["classes, LLA "+name] = fit(t, newTestClasses(t, tensor.Float64, 3), thirds(9, 3), FitOptions{Settings: &s, Validation: new(0.0)})
	}
	for name, set := range map[string]*data.Set{"VaLLA 5": wave(30, 4), "SFR": wave(30, 4), "classes, MAP": thirds(30, 4), "classes, VaLLA": thirds(30, 4), "classes, MF-VI": thirds(30, 4), "classes, SNGP": thirds(30, 4)} {
		m := *all[name]
		m.Calibration = &Calibration{Temperature: 1.7}
		all[name+", temperature"], all[name+", conformal"] = &m, calibrated(t, &m, set, CalibrateConformal)
	}
	return all
}

func calibrated(t testing.TB, m *Model, set *data.Set, how string) *Model {
	t.Helper()
	var w watched
	c, err := m.Calibrate(t.Context(), set, CalibrateOptions{Method: how, PredictOptions: PredictOptions{OnRows: w.rows}})
	if err != nil {
		t.Fatal(err)
	}
	w.complete(t)
	return c
}

// watched are the rows that were told to be done.
type watched struct {
	done, total int
	wrong       bool // not all told of the same total, or of more each time
	times       int
}

func (w *watched) rows(done, total int) {
	w.wrong = w.wrong || w.times > 0 && total != w.total || done <= w.done
	w.done, w.total, w.times = done, total, w.times+1
}

// complete: the last that was told is that all rows are done.
func (w *watched) complete(t testing.TB) {
	t.Helper()
	if w.wrong || w.times == 0 || w.done != w.total {
		t.Errorf("told of rows: %+v", *w)
	}
}

// twins is wave with a second target in other units, z = 1000 − 300 y² + noise.
func twins(n int, seed uint64) *data.Set {
	set, rng := wave(n, seed), rand.New(rand.NewPCG(seed, 1))
	y := make([]float64, 0, 2*n)
	for _, v := range set.Y.Float64s() {
		y = append(y, v, 1000-300*v*v+100*rng.NormFloat64())
	}
	set.Targets, set.Y = []string{"y", "z"}, denseOf(y, n, 2)
	return set
}

// quickTrain takes a third of a second.
func quickTrain() TrainOptions {
	return TrainOptions{Network: Network{Hidden: []int{10}}, Training: Training{Iterations: 600, BatchSize: 50}}
}

// trained returns the network of quickTrain on 200 rows of wave.
func trained(t testing.TB) (*Model, *data.Set) {
	t.Helper()
	set := wave(200, 1)
	m, err := Train(t.Context(), set, quickTrain())
	if err != nil {
		t.Fatal(err)
	}
	return m, set
}

func fit(t testing.TB, m *Model, set *data.Set, o FitOptions) *Model {
	t.Helper()
	f, err := m.Fit(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// written writes a model to a file of its own.
func written(t testing.TB, m *Model) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.valla")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func loaded(t testing.TB, path string) *Model {
	t.Helper()
	m, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func predict(t testing.TB, m *Model, x *tensor.Dense) *Prediction {
	t.Helper()
	p, err := m.Predict(context.Background(), x, PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// numbers are all of a prediction.
func numbers(p *Prediction) []float64 {
	all := slices.Concat(p.Mean, p.Variance, p.Latent, p.Probs)
	if p.Conformal != nil {
		all = append(all, p.Conformal.Scores...)
	}
	return all
}

// inJSON is v as a file holds it.
func inJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// copyArrays overwrites the arrays of the network to by the arrays of from, which has the same form.
func copyArrays(to, from layers.Sequential) {
	source := layers.Arrays(from)
	for i, p := range layers.Arrays(to) {
		p.Value = graph.Convert(source[i].Value, p.Value.Dtype())
	}
}
