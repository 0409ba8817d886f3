package mfvi

import (
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"gorgonia.org/tensor"
)

// variants are settings that reach every way to draw weights, and every optimizer.
func variants() map[string]func(gp.Problem) gp.Settings {
	out := map[string]func(gp.Problem) gp.Settings{}
	for name, s := range map[string]Settings{
		"defaults":                       {Samples: 4},
		"flipout, large steps":           {Samples: 3, BatchSize: 8, LearningRate: 0.01, LogStdRate: new(0.1), LogStd: -2, Epochs: 5},
		"single, Nesterov, frozen stds":  {Estimator: single, Samples: 3, BatchSize: 6, Epochs: 3, Nesterov: true, WeightDecay: 0.1, LogStdRate: new(0.0)},
		"for each example, constant":     {Estimator: perExample, Samples: 2, BatchSize: 5, Iterations: 7, Schedule: "constant"},
		"local, prior":                   {Estimator: local, Samples: 2, BatchSize: 7, Iterations: 9, PriorStd: 0.5, ValidateEvery: 2},
		"none":                           {Estimator: none, BatchSize: 10, Epochs: 2, LearningRate: 0.01},
		"numbers: noise that is learned": {Samples: 2, BatchSize: 12, NoiseStd: 0.2, LearnNoise: true, NoiseRate: 0.1},
	} {
		out[name] = func(p gp.Problem) gp.Settings {
			if !likelihood.Noisy(p.Likelihood) && s.LearnNoise {
				return nil
			}
			c := s
			return &c
		}
	}
	return out
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
