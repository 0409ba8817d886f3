package model

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
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
