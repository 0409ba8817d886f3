package moe

import (
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
)

// variants are settings that reach every choice of clusters and standard deviations.
func variants() map[string]func(gp.Problem) gp.Settings {
	return small.Variants(map[string]Settings{
		"defaults":                    {},
		"three experts, fixed":        {Experts: 3, Points: 8, PriorStd: 0.7},
		"each for itself":             {Experts: 2, Points: 6, Alone: true},
		"more experts than points":    {Experts: 40, Points: 3, PriorStd: 1},
		"numbers: the noise is given": {Experts: 2, Points: 6, PriorStd: 0.7, NoiseStd: 0.4},
	}, func(p gp.Problem, s Settings) bool {
		return likelihood.Noisy(p.Likelihood) || s.NoiseStd == 0
	})
}

// TestMethod: what package gp asks of a method. The covariance is at most the prior's.
func TestMethod(t *testing.T) {
	gptest.CheckMethod(t, gptest.MethodCase{Method: Method, Variants: variants(), Case: func(p gp.Problem, f *gp.Fitted, c *gptest.Case) {
		std := f.Record.PriorStds[0]
		c.Prior, c.PriorVariance = jacobian.NTK{Net: p.Net}, std*std
	}})
}
