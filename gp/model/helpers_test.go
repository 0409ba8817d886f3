package model

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
)

// newTestModel returns a model of two features with random weights and, where m > 0,
// a random posterior of m inducing points.
func newTestModel(t testing.TB, dt tensor.Dtype, m int, hidden ...int) *Model {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 0))
	mlp := layers.MLP{Inputs: 2, Hidden: hidden, Outputs: 1, Activation: "tanh"}
	net, err := mlp.New(dt, rng)
	if err != nil {
		t.Fatal(err)
	}
	out := &Model{
		Network: mlp, Net: net, Features: []string{"a", "b"}, Target: "y",
		Inputs:   &data.Standardizer{Mean: []float64{1, -2}, Std: []float64{3, 0.5}},
		Targets:  &data.Standardizer{Mean: []float64{10}, Std: []float64{4}},
		MAPNoise: 0.25, Noise: 0.25,
		Training: []Run{{Method: MethodWeights, Program: "test", Rows: 5}},
	}
	if m > 0 {
		attachRandom(t, out, m, rng)
	}
	return out
}

func attachRandom(t testing.TB, m *Model, inducing int, rng *rand.Rand) {
	t.Helper()
	z := make([]float64, 2*inducing)
	for i := range z {
		z[i] = rng.NormFloat64()
	}
	layer, err := valla.New(jacobian.NTK{Net: m.Net}, graph.Convert(matrix(z, inducing, 2), m.Dtype()), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range layer.L.Floats() {
		layer.L.Set(i, layer.L.At(i)+0.3*rng.NormFloat64())
	}
	layer.LogPriorStd.Set(0, -0.4)
	if err := m.Attach(layer, m.Fingerprint(), 0.125); err != nil {
		t.Fatal(err)
	}
}

// layerOf returns a model's VaLLA layer.
func layerOf(m *Model) *valla.Layer { return m.Posterior.(VaLLA).Layer }

// newTestLLA returns a model of two features with a posterior of the LLA family.
func newTestLLA(t testing.TB, dt tensor.Dtype, o LLAOptions) *Model {
	t.Helper()
	m, err := FitLLA(context.Background(), newTestModel(t, dt, 0, 3), wave(8, 3), o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// newTestClasses is newTestModel with the three classes 1, 2 and 4.
func newTestClasses(t testing.TB, dt tensor.Dtype, hidden ...int) *Model {
	t.Helper()
	m := newTestModel(t, dt, 0)
	m.Network = layers.MLP{Inputs: 2, Hidden: hidden, Outputs: 3, Activation: "tanh"}
	m.Classes, m.Targets, m.MAPNoise, m.Noise = []float64{1, 2, 4}, nil, 0, 0
	var err error
	if m.Net, err = m.Network.New(dt, rand.New(rand.NewPCG(8, 0))); err != nil {
		t.Fatal(err)
	}
	return m
}

// thirds is wave with a class for each third of the values: 1, 2 and 4.
func thirds(n int, seed uint64) *data.Set {
	set := wave(n, seed)
	y := set.Y.Float64s()
	sorted := slices.Sorted(slices.Values(y))
	for i, v := range y {
		y[i] = map[bool]float64{true: 1, false: 2}[v < sorted[n/3]]
		if v >= sorted[2*n/3] {
			y[i] = 4
		}
	}
	return set
}

// everyPosterior are models with all kinds of posteriors.
func everyPosterior(t testing.TB, dt tensor.Dtype) map[string]*Model {
	t.Helper()
	all := map[string]*Model{
		"MAP": newTestModel(t, dt, 0, 4, 3), "VaLLA 1": newTestModel(t, dt, 1, 4, 3), "VaLLA 5": newTestModel(t, dt, 5, 4, 3),
	}
	for name, o := range map[string]LLAOptions{
		"LLA full, function space":    {},
		"LLA full, weight space":      {Weights: laplace.Named("dense2.bias")},
		"LLA full, last layer":        {Weights: laplace.LastLayer},
		"LLA kfac":                    {Structure: laplace.KFAC},
		"LLA kfac, priors":            {Structure: laplace.KFAC, Priors: laplace.PerParameter},
		"LLA diag":                    {Structure: laplace.Diagonal},
		"LLA lowrank, subset of half": {Structure: laplace.LowRank, Rank: 2, Subset: 4},
	} {
		o.Hyper, o.PriorStd, o.NoiseStd = FixedHyper, 0.7, 0.5
		all[name] = newTestLLA(t, dt, o)
		o.NoiseStd = 0
		c, err := FitLLA(context.Background(), newTestClasses(t, dt, 3), thirds(9, 3), o)
		if err != nil {
			t.Fatal(err)
		}
		all["classes, "+name] = c
	}
	c := newTestClasses(t, dt, 3)
	all["classes, MAP"] = c.MAP()
	z := graph.Convert(matrix([]float64{1, 2, 0, 1, -1, 3}, 3, 2), dt)
	layer, err := valla.New(jacobian.NTK{Net: c.Net}, z, []int{0, 2, 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Attach(layer, c.Fingerprint(), 0); err != nil {
		t.Fatal(err)
	}
	all["classes, VaLLA 3"] = c
	return all
}

func matrix(v []float64, n, d int) *tensor.Dense {
	return tensor.New(tensor.WithShape(n, d), tensor.WithBacking(v))
}

// wave returns n examples of y = 5 + 2 sin(a) + b/50 + noise of standard deviation
// 0.2 (in units of y), with b in hundreds, so that scaling matters.
func wave(n int, seed uint64) *data.Set {
	rng := rand.New(rand.NewPCG(seed, 0))
	x, y := make([]float64, 2*n), make([]float64, n)
	for i := range y {
		a, b := 6*rng.Float64()-3, 100+50*rng.NormFloat64()
		x[2*i], x[2*i+1] = a, b
		y[i] = 5 + 2*math.Sin(a) + b/50 + 0.2*rng.NormFloat64()
	}
	return &data.Set{Features: []string{"a", "b"}, Target: "y", X: matrix(x, n, 2), Y: matrix(y, n, 1)}
}

func quickTrain() TrainOptions {
	o := TrainDefaults()
	o.Hidden, o.Iterations, o.BatchSize = []int{10}, 600, 50
	return o
}

func quickFit() FitOptions {
	o := FitDefaults()
	o.Inducing, o.Iterations, o.BatchSize = 8, 300, 50
	return o
}

func train600(t testing.TB) (*Model, *data.Set) {
	t.Helper()
	set := wave(200, 1)
	m, _, err := Train(context.Background(), quickTrain(), set)
	if err != nil {
		t.Fatal(err)
	}
	return m, set
}

func saved(t testing.TB, m *Model) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.valla")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func predict(t testing.TB, m *Model, x *tensor.Dense) *Prediction {
	t.Helper()
	p, err := m.Predict(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// oneLine checks that err is one line with all of want in it.
func oneLine(t testing.TB, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %q", want)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q, want %q in it", err, w)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error of several lines: %q", err)
	}
}

func near(t testing.TB, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol*max(1, math.Abs(want))) {
		t.Errorf("%s = %.12g, want %.12g", what, got, want)
	}
}
