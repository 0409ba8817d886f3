package mfvi

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/small"
	"gorgonia.org/tensor"
)

// variants are settings that reach every way to draw weights, and every optimizer.
func variants() map[string]func(gp.Problem) gp.Settings {
	return small.Variants(map[string]Settings{
		"defaults":                       {Samples: 4},
		"flipout, large steps":           {Samples: 3, BatchSize: 8, LearningRate: 0.01, LogStdRate: new(0.1), LogStd: -2, Epochs: 5},
		"single, Nesterov, frozen stds":  {Estimator: single, Samples: 3, BatchSize: 6, Epochs: 3, Nesterov: true, WeightDecay: 0.1, LogStdRate: new(0.0)},
		"for each example, constant":     {Estimator: perExample, Samples: 2, BatchSize: 5, Iterations: 7, Schedule: "constant"},
		"local, prior":                   {Estimator: local, Samples: 2, BatchSize: 7, Iterations: 9, PriorStd: 0.5, ValidateEvery: 2},
		"none":                           {Estimator: none, BatchSize: 10, Epochs: 2, LearningRate: 0.01},
		"numbers: noise that is learned": {Samples: 2, BatchSize: 12, NoiseStd: 0.2, LearnNoise: true, NoiseRate: 0.1},
	}, func(p gp.Problem, s Settings) bool {
		return likelihood.Noisy(p.Likelihood) || !s.LearnNoise
	})
}

// learnsNoise reports whether the parameters of noise follow Adam, whose steps differ for log σ² and log σ.
func learnsNoise(_ gp.Problem, s gp.Settings) bool { return s.(*Settings).LearnNoise }

// TestMethod: what package gp asks of a method. A covariance over draws of outputs in float32
// has the rounding of the outputs.
func TestMethod(t *testing.T) {
	gptest.CheckMethod(t, gptest.MethodCase{Method: Method, Variants: variants(), Unlimited: learnsNoise, Case: func(p gp.Problem, _ *gp.Fitted, c *gptest.Case) {
		if p.Dtype() == tensor.Float32 {
			c.Tol = 1e-4
		}
	}})
}

// TestManyDraws: draws that need more memory than there may be are refused before the training. Those that fit are
// drawn one after the other, so that an interrupt ends a prediction between two draws.
func TestManyDraws(t *testing.T) {
	all := small.Must(t, gptest.Problems)
	p := all[0].Problem
	_, err := (&Settings{Samples: 1_000_000, Iterations: 1}).Fit(t.Context(), p, gp.Run{Memory: 64 << 20})
	if !errors.As(err, new(*graph.MemoryError)) {
		t.Errorf("a million draws: %v", err)
	}
	f := small.Fit(t, &Settings{Samples: 1_000_000, Iterations: 1}, p, gp.Run{})
	c, err := f.Posterior.Compile(gp.Request{Shape: p.Train.X.Shape()[1:], Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var g gp.Gaussian
	if err := c.Predict(ctx, graph.Floats(dense.Rows(p.Train.X, 0, 1)), &g); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted prediction: %v", err)
	}
	if drawn := slices.ContainsFunc(f.Posterior.(*posterior).draws, func(d []*tensor.Dense) bool { return d != nil }); drawn {
		t.Error("there are draws before the interrupt")
	}
}

// TestDivergence: steps that are too large for residuals of nearly 0 end with the settings that make them smaller.
func TestDivergence(t *testing.T) {
	p := small.Task{Seed: [2]uint64{1, 2}, Dtype: tensor.Float64, Rows: 40, Hidden: []int{4}, Outputs: 1, Std: 0.3}.Problem(t)
	p.Likelihood = likelihood.NewGaussian(1e-12, tensor.Float64)
	_, err := (&Settings{}).Fit(t.Context(), p, gp.Run{})
	want := "mfvi: the steps diverge: try the setting learning-rate below 0.0001, or the setting noise-std above 1e-06: train: iteration"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	if _, err := (&Settings{NoiseStd: 0.1}).Fit(t.Context(), p, gp.Run{}); err != nil {
		t.Errorf("with the setting: error %v", err)
	}
}
