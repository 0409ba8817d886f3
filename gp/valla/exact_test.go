package valla

import (
	"context"
	"math"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

var ctx = context.Background()

// exactLayer puts a layer with inducing inputs z on the network of lla_exact, with
// the hyper-parameters that maximise its marginal likelihood.
func exactLayer(t *testing.T, a fixture.Arrays, z string) (*Layer, layers.Network, float64) {
	t.Helper()
	net := small.Numbered(t, a, "tanh", tensor.Float64)
	l, err := NewLayer(jacobian.NTK{Net: net}, a.Dense(t, z), nil)
	if err != nil {
		t.Fatal(err)
	}
	l.LogPriorStd.Set(0, log(a.Scalar(t, "opt_sigma0")))
	return l, net, math.Pow(a.Scalar(t, "opt_sigma"), 2)
}

func variances(t *testing.T, net layers.Network, l *Layer, x *tensor.Dense) []float64 {
	t.Helper()
	g, err := gp.Predict(ctx, newPosterior(net, l), x)
	if err != nil {
		t.Fatal(err)
	}
	return g.Cov
}

// TestFixtureExactAtAllPoints: with Z = X and the optimal A, VaLLA is exact LLA. The
// tolerance allows for cancellation: prior variances near 190, posterior ones near 0.09.
func TestFixtureExactAtAllPoints(t *testing.T) {
	a := fixture.Load(t, "lla_exact")
	l, net, noise := exactLayer(t, a, "X")
	jitter, err := l.OptimalA(ctx, a.Dense(t, "X"), noise)
	if err != nil {
		t.Fatal(err)
	}
	if jitter > 1e-11 {
		t.Errorf("jitter %g of the mean diagonal", jitter)
	}
	got := variances(t, net, l, a.Dense(t, "grid"))
	want := a.Floats(t, "var_exact")
	fixture.Close(t, "variance with the optimal A", got, want, 1e-6)
	t.Logf("relative error %.2g with jitter %g", fixture.RelErr(got, want), jitter)

	setDiagonal(l, 1/math.Sqrt(noise)) // A = I/σ² is optimal at Z = X
	got = variances(t, net, l, a.Dense(t, "grid"))
	fixture.Close(t, "variance with A = I/σ²", got, want, 1e-6)
}

// setDiagonal makes L = v·I.
func setDiagonal(l *Layer, v float64) {
	for i := range l.L.Value.Shape().TotalSize() {
		l.L.Set(i, 0)
	}
	for i := range l.Inducing() {
		l.L.Set(i*(i+3)/2, v)
	}
}

// TestFixtureOptimalA: few inducing points; the optimal A, its root, the variance
// and the bound that it attains. The condition number of K_z bounds the agreement of A.
func TestFixtureOptimalA(t *testing.T) {
	a := fixture.Load(t, "lla_exact")
	l, net, noise := exactLayer(t, a, "prop2_Z")
	if _, err := l.OptimalA(ctx, a.Dense(t, "X"), noise); err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, "variance", variances(t, net, l, a.Dense(t, "grid")), a.Floats(t, "prop2_var"), 1e-6)

	b := graph.NewBuilder(tensor.Float64)
	x, y := small.Given(b, "x", a.Dense(t, "X")), small.Given(b, "y", a.Dense(t, "y"))
	loss := l.Loss(b, x, y, net.Forward(b, x), Objective{
		Likelihood: likelihood.NewGaussian(noise, tensor.Float64), Alpha: new(0.0), N: x.Shape()[0]})
	gradL := graph.Grad(b, loss.Loss, b.Param(l.L))[0]
	fixture.Close(t, "negative ELBO", run(t, b, loss.Loss, nil), a.Floats(t, "prop2_negelbo"), 1e-6)

	tol := max(1e-6, 1e-15*a.Scalar(t, "prop2_cond"))
	fixture.Close(t, "A", run(t, b, b.MatMul(loss.L, loss.L, false, true), nil), a.Floats(t, "prop2_A"), tol)

	atOptimum := norm(run(t, b, gradL, nil))
	for i := range l.L.Value.Shape().TotalSize() {
		l.L.Set(i, 0.9*l.L.At(i))
	}
	if away := norm(run(t, b, gradL, nil)); atOptimum > 1e-3*away {
		t.Errorf("gradient of the bound at the optimal L is %g, at 0.9 L %g", atOptimum, away)
	}
}

func norm(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x * x
	}
	return math.Sqrt(s)
}
