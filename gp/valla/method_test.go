package valla

import (
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
)

// variants are settings of few steps that reach both optimizers, parts of mini-batches and every α.
func variants() map[string]func(gp.Problem) gp.Settings {
	return small.Variants(map[string]Settings{
		"natural":              {Inducing: 5, Iterations: 12, BatchSize: 10, ValidateEvery: 4},
		"natural, alpha":       {Inducing: 4, Iterations: 10, Alpha: new(0.5), FixInducing: true, Init: initGreedy},
		"Adam":                 {Optimizer: optimizerAdam, Inducing: 4, Iterations: 10, BatchSize: 8, ValidateEvery: 3},
		"the bound":            {Inducing: 4, Iterations: 10, BatchSize: 11, Alpha: new(0.0), ValidateEvery: 3},
		"one prior":            {Inducing: 5, Iterations: 8, BatchSize: 12, FixPrior: true, PriorStd: 0.7},
		"likeliest":            {Inducing: 5, Iterations: 12, BatchSize: 10, ValidateEvery: 4, LikeliestClasses: gp.LikeliestClasses{Likeliest: 2}},
		"likeliest, Adam":      {Optimizer: optimizerAdam, Inducing: 4, Iterations: 10, BatchSize: 8, ValidateEvery: 3, LikeliestClasses: gp.LikeliestClasses{Likeliest: 1}},
		"numbers: the bound":   {Inducing: 4, Iterations: 10, Alpha: new(0.0), NoiseStd: 0.4, FixNoise: true},
		"numbers: known noise": {Inducing: 5, Iterations: 12, BatchSize: 9, FixNoise: true, FixPrior: true, PriorStd: 0.5},
	}, func(p gp.Problem, s Settings) bool {
		return (likelihood.IsClass(p.Likelihood) || s.Likeliest == 0) && (likelihood.Noisy(p.Likelihood) || !s.FixNoise) && (!likelihood.IsClass(p.Likelihood) || alphaOf(s.Alpha) != 0)
	})
}

// ownWay reports whether a fit differs from a fit in a limit of the model. The parameters of noise follow Adam, whose
// steps differ for log σ² and log σ. Natural steps for α = 0 and Gaussian noise have no bound. A model with parameters is
// fitted with more σ₀ at once than a model without.
func ownWay(p gp.Problem, s gp.Settings) bool {
	of := s.(*Settings)
	if likelihood.Noisy(p.Likelihood) {
		return !of.FixNoise || alphaOf(of.Alpha) == 0
	}
	return of.Optimizer != optimizerAdam && !of.FixPrior
}

// TestMethod: what package gp asks of a method. The covariance is at most the prior's.
func TestMethod(t *testing.T) {
	gptest.CheckMethod(t, gptest.MethodCase{Method: Method, Variants: variants(), Unlimited: ownWay, Case: func(p gp.Problem, f *gp.Fitted, c *gptest.Case) {
		if f.Posterior.(*posterior).likeliest == 0 {
			c.Prior, c.PriorVariance = jacobian.NTK{Net: p.Net}, f.Record.PriorStds[0]*f.Record.PriorStds[0]
		}
	}})
}
