package valla

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"gorgonia.org/tensor"
)

// TestKeepsWhatItHasCompared: the posterior that a fit by natural gradients keeps has the negative log-likelihood of the
// held-out rows that was the least of all looks, whether the ladder moves afterwards or not.
func TestKeepsWhatItHasCompared(t *testing.T) {
	for _, outputs := range []int{1, 2} {
		classes := outputs > 1
		p := newProblem(t, tensor.Float64, outputs, classes)
		for seed := range uint64(6) {
			f := fit(t, Settings{Inducing: 6, Iterations: 20, ValidateEvery: 2, LearningRate: 0.1}, p, gp.Run{Seed: seed})
			g := small.Predict(t, f.Posterior, p.Validation.X)
			r := f.Record.Result
			if got := gp.MeanNLL(likelihood.WithNoise(p.Likelihood, f.NoiseVariance), graph.Floats(p.Validation.Y), g); math.Abs(got-r.BestValue) > 1e-9 {
				t.Errorf("classes %v, seed %d: step %d was kept for %.6f, has %.6f", classes, seed, r.BestIteration, r.BestValue, got)
			}
		}
	}
}

// TestRests: where the inducing points rest, a validation has the values that it has when it computes everything, and later
// validations compute no kernel.
func TestRests(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		p := newProblem(t, dt, 3, true)
		z, class := data.TakeRows(p.Train.X, []int{0, 1, 2, 3}), []int{0, 1, 2, 0}
		layer, err := NewLayer(jacobian.NTK{Net: p.Net}, z, class)
		if err != nil {
			t.Fatal(err)
		}
		n, err := naturalFit{
			Net: p.Net, Layer: layer, Likelihood: p.Likelihood, FixInducing: true, ValidationX: p.Validation.X, ValidationY: p.Validation.Y,
		}.begin(t.Context(), p.Train.X, p.Train.Y)
		if err != nil {
			t.Fatal(err)
		}
		if !n.check.rests {
			t.Fatalf("%v: the inducing points are fixed, and a validation does not know", dt)
		}
		n.check.rests = false
		want, _, err := n.compare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n.check.rests = true
		for look := range 2 {
			got, _, err := n.compare(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%v, look %d: values %v, expected %v", dt, look, got, want)
			}
			n.check.each = nil // which is not needed from now on
		}
		if err := n.check.evaluate(canceled(t), func(int, int, []*tensor.Dense) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, after an interrupt: error %v", dt, err)
		}
	}
}

// canceled returns a context that has ended.
func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
