package sum

import (
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gapa"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/valla"
)

// variants are settings of few steps.
func variants() map[string]func(gp.Problem) gp.Settings {
	few := valla.Settings{Inducing: 4, Iterations: 12, BatchSize: 8, ValidateEvery: 4}
	fixed := few
	fixed.FixNoise, fixed.NoiseStd = true, 0.4
	return map[string]func(gp.Problem) gp.Settings{
		"few steps": func(gp.Problem) gp.Settings {
			return &Settings{Settings: few, Options: gapa.Options{Neighbours: 6, ScaleSteps: 51}}
		},
		"known noise, nothing learned": func(p gp.Problem) gp.Settings {
			if !likelihood.Noisy(p.Likelihood) {
				return nil
			}
			return &Settings{fixed, gapa.Options{Cached: 12, Scales: "spread", Factor: 0.5}, new(0.0)}
		},
	}
}

// learnsNoise reports whether the parameters of noise follow Adam, whose steps differ for log σ² and log σ.
func learnsNoise(p gp.Problem, s gp.Settings) bool {
	return likelihood.Noisy(p.Likelihood) && !s.(*Settings).FixNoise
}

// TestMethod: what package gp asks of a method.
func TestMethod(t *testing.T) {
	gptest.CheckMethod(t, gptest.MethodCase{Method: Method, Variants: variants(), Unlimited: learnsNoise})
}
