package valla

import (
	"context"
	"flag"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"gorgonia.org/tensor"
	"pgregory.net/rapid"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/method"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/layers"
)

// uneven returns n examples of y = 0.3 b + noise, whose standard deviation is 0.01 where
// a < 0 and factor·a² elsewhere.
func uneven(n int, factor float64) *data.Set {
	rng := rand.New(rand.NewPCG(1, 0))
	x, y := make([]float64, 2*n), make([]float64, n)
	for i := range y {
		a, b := 4*rng.Float64()-2, 4*rng.Float64()-2
		std := 0.01
		if a >= 0 {
			std = factor * a * a
		}
		x[2*i], x[2*i+1], y[i] = a, b, 0.3*b+std*rng.NormFloat64()
	}
	return &data.Set{Features: []string{"a", "b"}, Targets: []string{"y"}, X: denseOf(x, n, 2), Y: denseOf(y, n, 1)}
}

// inFloat64 returns a copy of a float32 model with a posterior, all of whose numbers are the same in float64.
func inFloat64(t rapid.TB, m *Model) *Model {
	t.Helper()
	c := *m
	var err error
	if c.Net, err = layers.Build(m.Form, tensor.Float64, holdout.Rand(0, holdout.Weights)); err != nil {
		t.Fatal(err)
	}
	copyArrays(c.Net, m.Net)
	state, err := m.Posterior.State()
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range state.Arrays {
		state.Arrays[i].Value = graph.Convert(a.Value, tensor.Float64)
	}
	saved, err := gptest.Memory(state)
	if err != nil {
		t.Fatal(err)
	}
	of, err := method.Lookup(m.Posterior.Method)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := of.Restore(context.Background(), c.Net, c.Task.Likelihood(), saved)
	if err != nil {
		t.Fatal(err)
	}
	p := *m.Posterior
	p.Stored, c.Posterior = stored, &p
	return &c
}

// checkTrust checks the predictions of a fitted model. It also compares the predictions of a
// float32 model with the predictions of the same model in float64.
func checkTrust(t rapid.TB, m *Model, x *tensor.Dense) {
	t.Helper()
	p, err := m.Predict(context.Background(), x, PredictOptions{})
	if err != nil {
		t.Fatalf("%v, prior std %v: %v", m.Dtype(), m.History[1].PriorStds, err)
	}
	noise, std := m.NoiseStds(), p.Std()
	for i, s := range std {
		if !(s >= noise[0]*(1-1e-12)) || s-s != 0 || !(p.Latent[i] >= 0) {
			t.Fatalf("%v, prior std %v, row %d: standard deviation %.12g, latent variance %g, noise %.12g", m.Dtype(), m.History[1].PriorStds, i, s, p.Latent[i], noise[0])
		}
	}
	if m.Dtype() == tensor.Float64 {
		return
	}
	want, err := inFloat64(t, m).Predict(context.Background(), x, PredictOptions{})
	if err != nil {
		t.Fatalf("in float64: %v", err)
	}
	for i, s := range want.Std() {
		if math.Abs(std[i]-s) > 0.01*s {
			t.Fatalf("prior std %v, noise %g, row %d: standard deviation %g in float32, %g in float64", m.History[1].PriorStds, noise[0], i, std[i], s)
		}
	}
}

// A small noise beside a large one drives σ₀ up, so that the variance is a small difference
// of large numbers.
func TestUnevenNoiseInFloat32(t *testing.T) {
	for _, c := range []struct {
		factor            float64
		iterations, steps int
	}{{1, 600, 300}, {3, 400, 300}} {
		set := uneven(3000, c.factor)
		m, err := Train(context.Background(), set, TrainOptions{
			Network:  Network{Hidden: []int{30, 30}, Dtype: "float32"},
			Training: Training{Iterations: c.iterations},
		})
		if err != nil {
			t.Fatal(err)
		}
		f := fit(t, m, set, FitOptions{Settings: &vallagp.Settings{Iterations: c.steps}, Law: "gaussian"})
		t.Logf("prior std %g, noise %g", f.History[1].PriorStds[0], f.NoiseStds()[0])
		checkTrust(t, f, set.X)
	}
}

// randomTable draws a table of one to three features and a target of some scale, with a
// noise that may differ from place to place.
func randomTable(t *rapid.T, name string) *data.Set {
	n, d := rapid.IntRange(20, 200).Draw(t, name+" rows"), rapid.IntRange(1, 3).Draw(t, name+" features")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, name+" seed"), 0))
	scale := math.Pow(10, rapid.Float64Range(-4, 4).Draw(t, name+" log scale"))
	noise := math.Pow(10, rapid.Float64Range(-4, 0.5).Draw(t, name+" log noise"))
	kind := rapid.IntRange(0, 2).Draw(t, name+" kind")
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		f, std := 0.0, noise
		for j := range d {
			a := 4*rng.Float64() - 2
			x[i*d+j] = a
			f += math.Sin(float64(j+2) * a)
		}
		if a := x[i*d]; kind == 1 {
			std = max(1e-3, noise*a*a)
		} else if kind == 2 && a < 0 {
			std = 1e-2 * noise
		}
		y[i] = scale * (3 + f + std*rng.NormFloat64())
	}
	return &data.Set{Features: []string{"a", "b", "c"}[:d], Targets: []string{"y"}, X: denseOf(x, n, d), Y: denseOf(y, n, 1)}
}

// rapidChecks sets how often rapid.Check runs a property until the test ends.
func rapidChecks(t *testing.T, n int) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	before := f.Value.String()
	if err := f.Value.Set(strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(before) })
}

// TestTrustOnRandomTables: on 20 tables, or 200 in long tests, standard deviations are finite and at least the
// standard deviation of the noise in both element types. The standard deviations of a float32 model lie within
// 1 % of the same model's in float64.
func TestTrustOnRandomTables(t *testing.T) {
	if !fixture.Long() {
		rapidChecks(t, 10)
	}
	rapid.Check(t, func(r *rapid.T) { // 100 times by default
		for _, name := range []string{"first", "second"} {
			set := randomTable(r, name)
			for _, dt := range bothTypes {
				m, err := Train(context.Background(), set, TrainOptions{
					Network:  Network{Hidden: []int{8, 8}, Dtype: dt.String()},
					Training: Training{Iterations: rapid.IntRange(1, 60).Draw(r, name+" iterations")},
				})
				if err != nil {
					r.Fatal(err)
				}
				s := &vallagp.Settings{Inducing: rapid.IntRange(1, 30).Draw(r, name+" inducing"), Iterations: 30}
				if s.FixPrior = rapid.Bool().Draw(r, name+" fixed"); s.FixPrior { // at what no fit would choose
					s.PriorStd = math.Pow(10, rapid.Float64Range(-3, 3).Draw(r, name+" log prior std"))
				}
				f, err := m.Fit(context.Background(), set, FitOptions{Settings: s, Law: "gaussian"})
				if err != nil {
					r.Fatal(err)
				}
				checkTrust(r, f, set.X)
			}
		}
	})
}
