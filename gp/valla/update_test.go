package valla

import (
	"math"
	"strings"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/jacobian"
	"gorgonia.org/tensor"
)

// parted splits p's rows into two problems: start has the first rows, rest has the other rows.
func parted(p gp.Problem, first int) (start, rest gp.Problem) {
	var rows []int
	for i := range p.Train.N() {
		rows = append(rows, i)
	}
	start, rest = p, p
	start.Train, rest.Train = p.Train.Rows(rows[:first]), p.Train.Rows(rows[first:])
	return start, rest
}

// TestAddRows: rows that are added to the best A for others give the best A for all.
func TestAddRows(t *testing.T) {
	for dt, tol := range map[tensor.Dtype]float64{tensor.Float64: 1e-8, tensor.Float32: 1e-3} {
		for seed := range uint64(4) {
			p := newToy(t, seed, dt, size{2, 4})
			at := func(rows ...int) *tensor.Dense { return data.TakeRows(p.x, rows) }
			if _, err := p.layer.OptimalA(ctx, p.x, toyNoise); err != nil {
				t.Fatal(err)
			}
			want := variances(t, p.net, p.layer, p.x)
			if _, err := p.layer.OptimalA(ctx, at(0, 1), toyNoise); err != nil {
				t.Fatal(err)
			}
			before := variances(t, p.net, p.layer, p.x)
			if _, err := p.layer.addRows(ctx, at(2, 3, 4, 5), toyNoise, 0, nil); err != nil {
				t.Fatal(err)
			}
			fixture.Close(t, dt.String(), variances(t, p.net, p.layer, p.x), want, tol)
			if fixture.RelErr(before, want) < 0.01 {
				t.Errorf("seed %d: four rows change the covariance by %g: the test shows nothing", seed, fixture.RelErr(before, want))
			}
		}
	}
}

// TestUpdateIsFit: one step of natural gradients over all rows reaches the best A for α = 0.
// Rows that are added later, also to a posterior from a file, count as if they had been there.
func TestUpdateIsFit(t *testing.T) {
	p := newProblem(t, tensor.Float64, 1, false)
	start, rest := parted(p, p.Train.N()/2)
	s := Settings{Alpha: new(0.0), FixInducing: true, FixPrior: true, FixNoise: true, PriorStd: 0.6, NoiseStd: math.Sqrt(0.2), KeepLast: true, Inducing: 5, Iterations: 1}
	q := fit(t, s, start, gp.Run{}).Posterior.(*posterior)
	_, z := q.InducingInputs()
	layer, err := NewLayer(jacobian.NTK{Net: p.Net}, z.Clone().(*tensor.Dense), nil)
	if err != nil {
		t.Fatal(err)
	}
	layer.LogPriorStd.Set(0, math.Log(0.6))
	if _, err := layer.OptimalA(ctx, p.Train.X, 0.2); err != nil {
		t.Fatal(err)
	}
	state, err := q.State()
	if err != nil {
		t.Fatal(err)
	}
	file, err := gptest.Memory(state)
	if err != nil {
		t.Fatal(err)
	}
	back, err := restore(ctx, p.Net, p.Likelihood, file)
	if err != nil {
		t.Fatal(err)
	}
	want := variances(t, p.Net, layer, p.Validation.X)
	rest.Likelihood = likelihood.NewGaussian(0.2, tensor.Float64)
	for _, from := range []gp.Updater{q, back.(gp.Updater)} {
		u, err := from.Update(ctx, rest, gp.Run{})
		if err != nil {
			t.Fatal(err)
		}
		g, err := gp.Predict(ctx, u, p.Validation.X)
		if err != nil {
			t.Fatal(err)
		}
		fixture.Close(t, "covariance", g.Cov, want, 1e-7)
	}
	before, err := gp.Predict(ctx, q, p.Validation.X)
	if err != nil {
		t.Fatal(err)
	}
	if e := fixture.RelErr(before.Cov, want); e < 0.01 {
		t.Errorf("half of the rows change the covariance by %g: the test shows nothing", e)
	}
}

// TestUpdateErrors: where A is no sum over rows, rows cannot be added.
func TestUpdateErrors(t *testing.T) {
	numbers, classes := newProblem(t, tensor.Float64, 1, false), newProblem(t, tensor.Float64, 3, true)
	additive := fit(t, Settings{Alpha: new(0.0), Inducing: 3, Iterations: 2}, numbers, gp.Run{}).Posterior.(gp.Updater)
	for name, c := range map[string]struct {
		q gp.Updater
		p gp.Problem
	}{
		"α = 1":   {fit(t, Settings{Inducing: 3, Iterations: 2}, numbers, gp.Run{}).Posterior.(gp.Updater), numbers},
		"classes": {fit(t, Settings{Inducing: 3, Iterations: 2}, classes, gp.Run{}).Posterior.(gp.Updater), classes},
		"another": {additive, classes},
	} {
		u, err := c.q.Update(ctx, c.p, gp.Run{})
		if err == nil || !strings.Contains(err.Error(), "rows can be added exactly to a regression with alpha=0 alone") || u != nil {
			t.Errorf("%s: posterior %v, error %v", name, u, err)
		}
	}
}
