package sampled

import (
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/small"
)

// variants are settings that reach both solvers and every choice of the prior.
func variants() map[string]func(gp.Problem) gp.Settings {
	return small.Variants(map[string]Settings{
		"defaults":                    {EMSteps: 2, Samples: 9},
		"fixed prior":                 {PriorStd: 0.7, Samples: 5},
		"one step from elsewhere":     {Samples: 4, EMSteps: 1, EMSamples: 2, EMPriorStd: 0.5},
		"few iterations":              {Samples: 3, PriorStd: 2, Iterations: 2, Tolerance: 1e-9},
		"sgd":                         {Solver: "sgd", Samples: 4, EMSteps: 1, EMPriorStd: 0.5, Epochs: 2, BatchSize: 7, LearningRate: 0.01, Average: 0.1},
		"sgd, clipped":                {Solver: "sgd", Samples: 3, PriorStd: 0.5, Epochs: 3, LearningRate: 0.01, Schedule: "linear", Clip: 1},
		"numbers: the noise is given": {PriorStd: 0.7, Samples: 5, NoiseStd: 0.4},
	}, func(p gp.Problem, s Settings) bool {
		return likelihood.Noisy(p.Likelihood) || s.NoiseStd == 0
	})
}

// TestMethod: what package gp asks of a method.
func TestMethod(t *testing.T) {
	gptest.CheckMethod(t, gptest.MethodCase{Method: Method, Variants: variants()})
}
