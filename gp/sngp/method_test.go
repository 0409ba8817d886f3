package sngp

import (
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/small"
)

// variants are settings that reach every form of the layers, the head, the covariance and the
// training.
func variants() map[string]func(gp.Problem) gp.Settings {
	return small.Variants(map[string]Settings{
		"defaults":                   {Features: 16, Iterations: 12, BatchSize: 8},
		"always, average":            {Features: 12, Iterations: 10, Spectral: spectralAlways, NormGradient: gradThrough, NormLayers: topLayers, LayerNorm: true, Precision: average, Average: new(0.9), Head: headRandom, WeightDecay: 0.1},
		"sgd, decaying":              {Features: 9, Iterations: 10, Optimizer: optimizerSGD, Schedule: milestones, L2: 3e-4, Precision: decaying, Draws: drawsGaussian, BatchNorm: normTraining, KeepLast: true, FeatureScale: 1},
		"classes: per class, mc":     {Features: 10, Iterations: 10, Spectral: spectralNone, Covariance: formPerClass, Probabilities: linkSamples, Samples: 7, Schedule: constant},
		"classes: joint":             {Features: 7, Iterations: 10, Bound: 6, Covariance: formJoint, Ridge: 0.5, LengthScale: 2, Lambda: new(20.0)},
		"classes: joint, mc, random": {Features: 5, Iterations: 10, Covariance: formJoint, Probabilities: linkSamples, Head: headRandom},
	}, func(p gp.Problem, s Settings) bool {
		_, numbers := p.Likelihood.(likelihood.Gaussian)
		return !numbers || s.Covariance == ""
	})
}

// prior is the kernel φφ'ᵀ of each output.
type prior struct{ of *posterior }

func (p prior) Diag(b *graph.Builder, x *graph.Node) *graph.Node {
	phi, c := p.of.write(b, x)[0], p.of.cov.Outputs
	n := x.Shape()[0]
	return b.Mul(b.Reshape(b.SumAxis(b.Square(phi), 1), n, 1, 1), b.Reshape(b.Eye(c), 1, c, c))
}

func (prior) Cross(b *graph.Builder, _, _ *graph.Node, _ []int) *graph.Node {
	return b.Failf("not used")
}
func (prior) Gram(b *graph.Builder, _ *graph.Node, _ []int) *graph.Node { return b.Failf("not used") }

// TestMethod: what package gp asks of a method. The covariance is at most the prior's.
func TestMethod(t *testing.T) {
	gptest.CheckMethod(t, gptest.MethodCase{Method: Method, Variants: variants(), Case: func(_ gp.Problem, f *gp.Fitted, c *gptest.Case) {
		p := f.Posterior.(*posterior)
		if p.cov.Ridge > 0 && f.Record.Settings["precision"] == exact {
			c.Prior, c.PriorVariance = prior{p}, f.Record.PriorStds[0]*f.Record.PriorStds[0]
		}
	}})
}
