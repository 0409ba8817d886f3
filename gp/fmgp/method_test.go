package fmgp

import (
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/small"
)

// variants are settings that reach every kernel, start and schedule.
func variants() map[string]func(gp.Problem) gp.Settings {
	return small.Variants(map[string]Settings{
		"defaults":             {Inducing: 8, Iterations: 12},
		"embedding":            {Kernel: kernelEmbedding, Inducing: 6, Iterations: 10, Init: "random-points", BatchSize: 10, LengthScale: 1.5},
		"rbf, random rows":     {Kernel: kernelRBF, Inducing: 5, Iterations: 10, Init: initRandomRows, BatchSize: 11, LengthScale: 2, Amplitude: 0.5, KeepLast: true},
		"steps, alpha":         {Inducing: 4, Iterations: 12, BatchSize: 7, Schedule: scheduleSteps, DecayEvery: 5, LengthScale: 1, Alpha: new(0.5)},
		"numbers: the bound":   {Inducing: 4, Iterations: 10, BatchSize: 13, Schedule: scheduleConstant, Alpha: new(0.0), LengthScale: 1, NoiseStd: 0.4, FixNoise: true},
		"numbers: known noise": {Inducing: 5, Iterations: 10, BatchSize: 12, LengthScale: 1, FixNoise: true},
	}, func(p gp.Problem, s Settings) bool {
		return likelihood.Noisy(p.Likelihood) || !s.FixNoise
	})
}

// learnsNoise reports whether the parameters of noise follow Adam, whose steps differ for log σ² and log σ.
func learnsNoise(p gp.Problem, s gp.Settings) bool {
	return likelihood.Noisy(p.Likelihood) && !s.(*Settings).FixNoise
}

// prior is the kernel of a posterior as a kernel of the network's inputs.
type prior struct {
	gp.Kernel
	of *posterior
}

func (p prior) Diag(b *graph.Builder, x *graph.Node) *graph.Node {
	k, n := p.of.layer.Kernel, x.Shape()[0]
	out := writeNetwork(b, p.of.net, x, k.Features > 0)
	u := b.Pad(b.Reshape(x, n, k.Inputs), 1, 0, k.Width())
	if k.Features > 0 {
		u = b.Add(u, b.Pad(out[1], 1, k.Inputs, k.Width()))
	}
	return k.Diag(b, u)
}

// TestMethod: what package gp asks of a method. The covariance is at most the prior's.
func TestMethod(t *testing.T) {
	gptest.CheckMethod(t, gptest.MethodCase{Method: Method, Variants: variants(), Unlimited: learnsNoise, Case: func(_ gp.Problem, f *gp.Fitted, c *gptest.Case) {
		c.Prior, c.PriorVariance = prior{of: f.Posterior.(*posterior)}, 1
	}})
}
