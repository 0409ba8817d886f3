package valla

import (
	"math"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"gorgonia.org/tensor"
)

// TestPassesAreOptimal: sums over parts of all rows give the best A for them (paper, Prop. 2),
// wherever A was, at the σ₀ and the noise of the fit.
func TestPassesAreOptimal(t *testing.T) {
	for dt, tol := range map[tensor.Dtype]float64{tensor.Float64: 1e-7, tensor.Float32: 2e-2} {
		p := newProblem(t, dt, 1, false)
		start, _ := parted(p, p.Train.N()/2)
		s := Settings{FixInducing: true, FixPrior: true, FixNoise: true, PriorStd: 0.6, NoiseStd: math.Sqrt(0.2), Inducing: 5, Iterations: 3}
		q := fit(t, s, start, gp.Run{}).Posterior.(*posterior)
		f, err := gptest.Passes(t.Context(), q, likelihood.NewGaussian(0.2, dt), p.Train, 7, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, z := q.InducingInputs()
		layer, err := NewLayer(jacobian.NTK{Net: p.Net}, z.Clone().(*tensor.Dense), nil)
		if err != nil {
			t.Fatal(err)
		}
		layer.LogPriorStd.Set(0, math.Log(0.6))
		if _, err := layer.OptimalA(t.Context(), p.Train.X, 0.2); err != nil {
			t.Fatal(err)
		}
		a := small.Predict(t, f.Posterior, p.Train.X)
		b := small.Predict(t, newPosterior(p.Net, layer), p.Train.X)
		fixture.Close(t, dt.String(), a.Cov, b.Cov, tol)
	}
}

// TestPassesSearch: rows held out choose a σ₀ and a noise that predict them better than any other
// of a grid, with classes too.
func TestPassesSearch(t *testing.T) {
	for _, classes := range []bool{false, true} {
		p := newProblem(t, tensor.Float64, 3, classes)
		s := Settings{PriorStd: 30, FixPrior: true, Inducing: 5, Iterations: 3}
		q := fit(t, s, p, gp.Run{}).Posterior.(*posterior)
		nll := func(held *gp.Examples) float64 {
			f, err := gptest.Passes(t.Context(), q, p.Likelihood, p.Train, 9, held)
			if err != nil {
				t.Fatal(err)
			}
			lik := p.Likelihood
			if f.NoiseVariance > 0 {
				lik = likelihood.NewGaussian(f.NoiseVariance, tensor.Float64)
			}
			return validationNLL(t, f.Posterior, lik, p.Validation.X, p.Validation.Y)
		}
		if before, after := nll(nil), nll(p.Validation); !(after < before-0.01) {
			t.Errorf("classes %v: NLL %g at the best standard deviations, %g at those of the fit", classes, after, before)
		}
	}
}
