package valla

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// curve draws targets sin 3x with noise of deviation 0.1 at inputs around ±1, with a
// gap between them, and as many test points over the whole of [−2, 2].
func curve(n int, dt tensor.Dtype) (x, y, testX, testY *tensor.Dense) {
	rng := rand.New(rand.NewPCG(6, 6))
	draw := func(at func(i int) float64) (*tensor.Dense, *tensor.Dense) {
		xs, ys := make([]float64, n), make([]float64, n)
		for i := range xs {
			xs[i] = at(i)
			ys[i] = math.Sin(3*xs[i]) + 0.1*rng.NormFloat64()
		}
		return graph.NewParam("", xs, dt, n, 1).Value, graph.NewParam("", ys, dt, n, 1).Value
	}
	x, y = draw(func(i int) float64 { return float64(2*(i%2)-1) + 0.4*rng.NormFloat64() })
	testX, testY = draw(func(i int) float64 { return -2 + 4*float64(i)/float64(n-1) })
	return
}

// nll is the mean negative log density of residuals under N(0, variance).
func nll(residuals []float64, variance func(i int) float64) float64 {
	sum := 0.0
	for i, r := range residuals {
		v := variance(i)
		sum += 0.5 * (math.Log(2*math.Pi*v) + r*r/v)
	}
	return sum / float64(len(residuals))
}

// TestFitBeatsMAP: the fit lowers the loss and leaves the network alone. What it
// predicts is better than the network with the noise that suits the training data
// best: with α = 0 where there are no data; with α = 1, which aims at the likelihood
// of the training data directly, on those.
func TestFitBeatsMAP(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		x, y, testX, testY := curve(40, dt)
		net := mapNetwork(t, x, y)
		noise := residuals(t, net, x, y)
		best := dot(noise, noise) / float64(len(noise)) // σ² of the largest likelihood
		constant := func(int) float64 { return best }
		for _, c := range []struct {
			alpha float64
			x, y  *tensor.Dense
		}{{0, testX, testY}, {1, x, y}} {
			variance := fitCurve(t, net, x, y, c.alpha, c.x)
			r := residuals(t, net, c.x, c.y)
			got, mapOnly := nll(r, variance), nll(r, constant)
			t.Logf("%v, α = %g: NLL %.3f, of MAP %.3f", dt, c.alpha, got, mapOnly)
			if !(got < mapOnly) {
				t.Errorf("%v, α = %g: NLL %g, of MAP %g", dt, c.alpha, got, mapOnly)
			}
		}
	}
}

func mapNetwork(t *testing.T, x, y *tensor.Dense) layers.Network {
	t.Helper()
	net, err := layers.MLP{Inputs: 1, Hidden: []int{20}, Outputs: 1, Activation: "tanh"}.New(x.Dtype(), rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	fit := train.MAP{Net: net, Loss: train.SquaredError, Config: train.Config{Iterations: 800, Optimizer: &train.Adam{LR: 2e-2}}}
	if _, err := fit.Train(ctx, train.Rows{All: x}, y); err != nil {
		t.Fatal(err)
	}
	return net
}

// residuals are y − g(x).
func residuals(t *testing.T, net layers.Network, x, y *tensor.Dense) []float64 {
	t.Helper()
	b := graph.NewBuilder(x.Dtype())
	in := b.Input("x", x.Shape()...)
	r := run(t, b, net.Forward(b, in), map[*graph.Node]*tensor.Dense{in: x})
	for i, v := range graph.Floats(y) {
		r[i] = v - r[i]
	}
	return r
}

// fitCurve fits a layer to x and y and returns the variance of targets at inputs.
func fitCurve(t *testing.T, net layers.Network, x, y *tensor.Dense, alpha float64, at *tensor.Dense) func(i int) float64 {
	t.Helper()
	layer := greedyLayer(t, net, x, 8)
	weights := net.Params()[0].Floats()
	lik := likelihood.NewGaussian(math.Exp(-5), x.Dtype())
	var losses []float64
	fit := adamFit{Net: net, Layer: layer, Likelihood: lik, Alpha: new(alpha), BatchSize: 20, Seed: 3, Config: train.Config{
		Iterations: 400, Optimizer: &train.Adam{LR: 2e-2}, OnStep: func(s train.Step) { losses = append(losses, s.Loss) },
	}}
	if _, err := fit.Run(ctx, x, y); err != nil {
		t.Fatal(err)
	}
	if first, last := mean(losses[:20]), mean(losses[len(losses)-20:]); !(last < first) {
		t.Errorf("α = %g: mean loss of the first 20 steps %g, of the last 20 %g", alpha, first, last)
	}
	if !slices.Equal(weights, net.Params()[0].Floats()) {
		t.Error("the fit changed the network")
	}
	cov := variances(t, net, layer, at)
	return func(i int) float64 { return cov[i] + lik.Variance() }
}

// greedyLayer is a layer of one output at m of the inputs x, chosen greedily.
func greedyLayer(t *testing.T, net layers.Network, x *tensor.Dense, m int) *Layer {
	t.Helper()
	z, class, err := greedy(jacobian.NTK{Net: net}, x, 1, m, 0)
	if err != nil {
		t.Fatal(err)
	}
	layer, err := NewLayer(jacobian.NTK{Net: net}, z, class)
	if err != nil {
		t.Fatal(err)
	}
	return layer
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// fit is a short fit of a toy.
func (p *toy) fit(iterations int) adamFit {
	return adamFit{Net: p.net, Layer: p.layer, Likelihood: p.lik, Alpha: new(1.0), Config: train.Config{Iterations: iterations}}
}

// TestFixed: what is fixed keeps its bits, everything else moves.
func TestFixed(t *testing.T) {
	for _, c := range []struct{ prior, likelihood bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		p := newToy(t, 7, tensor.Float64, size{2, 3})
		params := append(p.layer.Params(), p.lik.Params()...)
		var before [][]float64
		for _, q := range params {
			before = append(before, q.Floats())
		}
		f := p.fit(3)
		f.FixPrior, f.FixLikelihood = c.prior, c.likelihood
		if _, err := f.Run(ctx, p.x, p.y); err != nil {
			t.Fatal(err)
		}
		for i, fixed := range []bool{false, false, c.prior, c.likelihood} {
			if same := slices.Equal(before[i], params[i].Floats()); same != fixed {
				t.Errorf("%+v: %s is the same: %t", c, params[i].Name, same)
			}
		}
	}
}

// TestSeeds: the same seed deals the same mini-batches, another seed others.
func TestSeeds(t *testing.T) {
	run := func(seed uint64) []float64 {
		p := newToy(t, 8, tensor.Float64, size{1, 3})
		f := p.fit(5)
		f.Seed, f.BatchSize = seed, 2
		if _, err := f.Run(ctx, p.x, p.y); err != nil {
			t.Fatal(err)
		}
		return p.layer.L.Floats()
	}
	if !slices.Equal(run(1), run(1)) {
		t.Error("the same seed gives another L")
	}
	if slices.Equal(run(1), run(2)) {
		t.Error("another seed gives the same L")
	}
}

// TestNonFiniteLoss: a noise variance that becomes infinite stops the fit with an
// error that says when, and what the parameters were.
func TestNonFiniteLoss(t *testing.T) {
	p := newToy(t, 9, tensor.Float64, size{1, 3})
	f := p.fit(10)
	f.Config.OnStep = func(s train.Step) {
		if s.Iteration == 2 {
			p.lik.Params()[0].Set(0, 1000)
		}
	}
	res, err := f.Run(ctx, p.x, p.y)
	var bad *train.NonFiniteError
	if !errors.As(err, &bad) {
		t.Fatalf("error %v, want a NonFiniteError", err)
	}
	if bad.Iteration != 3 || res.Iterations != 3 {
		t.Errorf("iteration %d after %d steps, want 3", bad.Iteration, res.Iterations)
	}
	for _, want := range []string{"iteration 3", "noise.log_variance", "valla.l", "valla.z", "valla.log_prior_std"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not name %s", err, want)
		}
	}
}

// signed is a kernel times a parameter, which may make it none.
type signed struct {
	jacobian.NTK
	factor *graph.Param
}

func (k signed) Gram(b *graph.Builder, z *graph.Node, class []int) *graph.Node {
	return b.Mul(b.Param(k.factor), k.NTK.Gram(b, z, class))
}

// TestIndefinite: a kernel that stops being one makes H = I + LᵀK_zL indefinite; the
// error says at which iteration, of which matrix, and what the parameters were.
func TestIndefinite(t *testing.T) {
	p := newToy(t, 10, tensor.Float64, size{1, 3})
	factor := graph.NewParam("factor", []float64{1}, tensor.Float64, 1)
	p.layer.Kernel = signed{jacobian.NTK{Net: p.net}, factor}
	f := p.fit(10)
	f.Config.OnStep = func(s train.Step) {
		if s.Iteration == 3 {
			factor.Set(0, -1e3)
		}
	}
	_, err := f.Run(ctx, p.x, p.y)
	var bad *graph.NotPositiveDefiniteError
	if !errors.As(err, &bad) || bad.Order != 3 {
		t.Fatalf("error %v, want a NotPositiveDefiniteError of order 3", err)
	}
	for _, want := range []string{"iteration 4", "valla.l in [", "valla.z in ["} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q lacks %q", err, want)
		}
	}
}

func TestCancelledFit(t *testing.T) {
	p := newToy(t, 11, tensor.Float64, size{1, 3})
	stopping, cancel := context.WithCancel(ctx)
	f := p.fit(10)
	f.Config.OnStep = func(s train.Step) {
		if s.Iteration == 1 {
			cancel()
		}
	}
	res, err := f.Run(stopping, p.x, p.y)
	if !errors.Is(err, context.Canceled) || res.Iterations != 2 {
		t.Errorf("error %v after %d steps, want the context's after 2", err, res.Iterations)
	}
}
