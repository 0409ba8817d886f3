package gapa

import (
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/small"
)

// variants are settings that reach every way to find numbers.
func variants() map[string]func(gp.Problem) gp.Settings {
	return small.Variants(map[string]Settings{
		"defaults":                    {},
		"few neighbours":              {Options: Options{Cached: 15, Neighbours: 4, ScaleRows: 20, ScaleSteps: 60}},
		"nothing learned":             {Options: Options{Layer: 1, Neighbours: 6, LengthScale: 1.5, RelativeNoise: 1e-3, Scales: scalesSpread, Factor: 0.5}},
		"numbers: the noise is given": {NoiseStd: 0.4},
	}, func(p gp.Problem, s Settings) bool {
		return likelihood.Noisy(p.Likelihood) || s.NoiseStd == 0
	})
}

// learnsNoise reports whether the parameters of noise follow Adam, whose steps differ for log σ² and log σ.
func learnsNoise(p gp.Problem, s gp.Settings) bool {
	of := s.(*Settings)
	return likelihood.Noisy(p.Likelihood) && of.Scales != scalesSpread && of.NoiseStd == 0
}

// TestMethod: what package gp asks of a method.
func TestMethod(t *testing.T) {
	gptest.CheckMethod(t, gptest.MethodCase{Method: Method, Variants: variants(), Unlimited: learnsNoise})
}
