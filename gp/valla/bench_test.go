package valla

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// benchFit is a VaLLA problem on a tanh MLP with random data.
func benchFit(b testing.TB, m layers.MLP, inducing int, dt tensor.Dtype) (adamFit, *tensor.Dense, *tensor.Dense) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(rows, cols int) *tensor.Dense {
		v := make([]float64, rows*cols)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return graph.Convert(tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(v)), dt)
	}
	net, err := m.New(dt, rng)
	if err != nil {
		b.Fatal(err)
	}
	class := make([]int, inducing)
	labels := make([]int, 1000)
	for i := range class {
		class[i] = i % m.Outputs
	}
	for i := range labels {
		labels[i] = i % m.Outputs
	}
	layer, err := NewLayer(jacobian.NTK{Net: net}, random(inducing, m.Inputs), class)
	if err != nil {
		b.Fatal(err)
	}
	f := adamFit{Net: net, Layer: layer, Likelihood: likelihood.NewGaussian(0.1, dt), Alpha: new(1.0)}
	y := random(1000, 1)
	if m.Outputs > 1 {
		f.Likelihood, y = likelihood.Softmax{}, small.OneHot(labels, m.Outputs, dt)
	}
	return f, random(1000, m.Inputs), y
}

// benchCases are the dense rows of the speed table.
var benchCases = []struct {
	name string
	net  layers.MLP
}{
	{"regression 90-200-200-200-1", layers.MLP{Inputs: 90, Hidden: []int{200, 200, 200}, Outputs: 1, Activation: "tanh"}},
	{"classification 784-200-200-10", layers.MLP{Inputs: 784, Hidden: []int{200, 200}, Outputs: 10, Activation: "tanh"}},
}

// BenchmarkStep is one training step's loss and gradients, B = 100. Mflop is what the program
// computes, formula-Mflop what stepFlops counts by hand.
func BenchmarkStep(b *testing.B) {
	for _, c := range benchCases {
		for _, m := range []int{100, 200} {
			for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
				b.Run(fmt.Sprintf("%s/M=%d/%v", c.name, m, dt), func(b *testing.B) {
					f, x, y := benchFit(b, c.net, m, dt)
					obj, err := f.Objective(x, y)
					if err != nil {
						b.Fatal(err)
					}
					b.ReportAllocs()
					i := 0
					for b.Loop() {
						if _, err := obj.Evaluate(ctx, i); err != nil {
							b.Fatal(err)
						}
						i++
					}
					_, steps := obj.Program().Steps()
					_, flops := obj.Program().Flops()
					b.ReportMetric(float64(steps), "ops/step")
					b.ReportMetric(float64(flops)/1e6, "Mflop")
					b.ReportMetric(float64(stepFlops(c.net, m, 100))/1e6, "formula-Mflop")
					b.ReportMetric(float64(flops)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
					b.ReportMetric(float64(obj.Program().Bytes())/1e6, "MB")
				})
			}
		}
	}
}

// BenchmarkPredict is the mean and covariance, and in classification the probit
// probabilities, at 1,000 points, M = 100.
func BenchmarkPredict(b *testing.B) {
	for _, c := range benchCases {
		for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			b.Run(fmt.Sprintf("%s/%v", c.name, dt), func(b *testing.B) {
				f, x, _ := benchFit(b, c.net, 100, dt)
				e, err := gp.NewEngine(newPosterior(f.Net, f.Layer), x.Shape()[1:], gp.EngineOptions{})
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					g, err := e.PredictAll(ctx, x)
					if err != nil {
						b.Fatal(err)
					}
					if c.net.Outputs > 1 {
						gp.Probit(nil, g)
					}
				}
			})
		}
	}
}
