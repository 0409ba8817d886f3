package fmgp

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// benchmarks are the published sizes: a table of 90 inputs with the kernel of the inputs, and
// images of 3·32·32 numbers with ten classes and 64 features.
var benchmarks = []struct {
	name                            string
	inputs, hidden, outputs, m, per int
	classes                         bool
}{
	{"table", 90, 200, 1, 100, 100, false},
	{"images, M = 20", 3072, 64, 10, 20, 50, true},
	{"images, M = 100", 3072, 64, 10, 100, 100, true},
}

// BenchmarkStep is a step of Adam on stored outputs and features.
func BenchmarkStep(b *testing.B) {
	bench(b, func(b *testing.B, f *fitting) {
		g, err := f.steps().Objective()
		if err != nil {
			b.Fatal(err)
		}
		o := f.steps().Config().Optimizer
		for i := 0; b.Loop(); i++ {
			if _, err := g.Evaluate(b.Context(), i); err != nil {
				b.Fatal(err)
			}
			if err := o.Step(g.Params(), 1); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkPredict is the mean and the covariance of 1,000 rows.
func BenchmarkPredict(b *testing.B) {
	bench(b, func(b *testing.B, f *fitting) {
		e, err := gp.NewEngine(f.post, f.p.Train.X.Shape()[1:], gp.EngineOptions{})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := e.PredictAll(b.Context(), f.p.Train.X); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func bench(b *testing.B, run func(*testing.B, *fitting)) {
	for _, c := range benchmarks {
		for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			rng := rand.New(rand.NewPCG(1, 1))
			net, err := layers.MLP{Inputs: c.inputs, Hidden: []int{c.hidden}, Outputs: c.outputs, Activation: "tanh"}.New(dt, rng)
			if err != nil {
				b.Fatal(err)
			}
			const n = 1000
			p := gp.Problem{Net: net, Likelihood: likelihood.NewGaussian(0.1, dt), Train: gp.Examples{X: small.Normal(rng, dt, n, c.inputs), Y: small.Normal(rng, dt, n, c.outputs)}}
			if c.classes {
				labels := make([]int, n)
				for i := range labels {
					labels[i] = i % c.outputs
				}
				p.Likelihood, p.Train.Y = likelihood.Softmax{}, small.OneHot(labels, c.outputs, dt)
			}
			f := &fitting{p: p}
			if f.s, err = (Settings{Inducing: c.m, BatchSize: c.per, Init: initRandomRows}).complete(p); err == nil {
				err = f.start(b.Context())
			}
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprint(c.name, ", ", dt), func(b *testing.B) { run(b, f) })
		}
	}
}
