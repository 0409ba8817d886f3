package valla

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// forwardFlops counts the additions and multiplications of the convolutions of a ResNet for
// images of 32×32 pixels, at one image. Those of w channels have 32·16/w rows of places.
func forwardFlops(net layers.Network) float64 {
	flops := 0.0
	for _, p := range net.Params() {
		if s := p.Value.Shape(); len(s) == 4 {
			side := 512 / s[0]
			flops += float64(2 * s.TotalSize() * side * side)
		}
	}
	return flops
}

// BenchmarkResNet20 has the ResNet rows of the speed table, in float32: B = 100 random
// images, M = 100, C = 10. MB is the memory of the program, and GFLOP counts what the formulas
// ask for: a convolution is computed once forwards, and for each output once for the cotangent
// and once for the row of its filters; rows are multiplied by Z's rows. A step multiplies the rows
// again for the gradient of Z, for which the forward and backward passes at Z are derived.
func BenchmarkResNet20(b *testing.B) {
	const batch, inducing, outputs = 100, 100, 10
	rng := rand.New(rand.NewPCG(1, 2))
	spec, err := layers.NewResNet(20, layers.Projection, outputs)
	if err != nil {
		b.Fatal(err)
	}
	net, err := spec.New(tensor.Float32, rng)
	if err != nil {
		b.Fatal(err)
	}
	images := func(n int) *tensor.Dense {
		x := tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(n, 3, 32, 32))
		for i := range x.Float32s() {
			x.Float32s()[i] = float32(rng.NormFloat64())
		}
		return x
	}
	labels, class := make([]int, batch), make([]int, inducing)
	for i := range labels {
		labels[i] = i % outputs
	}
	for i := range class {
		class[i] = i % outputs
	}
	x, y := images(batch), small.OneHot(labels, outputs, tensor.Float32)
	layer, err := NewLayer(jacobian.NTK{Net: net}, images(inducing), class)
	if err != nil {
		b.Fatal(err)
	}
	each, weights := forwardFlops(net), float64(layers.Count(net))
	const rows = batch * outputs
	cross := batch*each*(1+2*outputs) + 2*rows*inducing*weights
	diag, atZ := rows*(outputs+1)*weights, inducing*each*3+inducing*inducing*weights
	step := cross + diag + atZ + 2*rows*inducing*weights + 2*inducing*inducing*weights + 2*inducing*each*3
	run := func(b *testing.B, p *graph.Program, formula float64) {
		for b.Loop() {
			if err := p.Run(); err != nil {
				b.Fatal(err)
			}
		}
		_, made := p.Flops()
		b.ReportMetric(float64(made)/1e9, "Gflop")
		b.ReportMetric(float64(made)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		b.ReportMetric(float64(p.Bytes())/1e6, "MB")
		b.ReportMetric(formula/1e9, "formula-Gflop")
	}
	program := func(formula float64, f func(g *graph.Builder, x *graph.Node) []*graph.Node) func(*testing.B) {
		return func(b *testing.B) {
			g := graph.NewBuilder(tensor.Float32)
			in := g.Input("x", x.Shape()...)
			p, err := graph.Compile(g, f(g, in), graph.Options{Varying: []*graph.Node{in}})
			if err == nil {
				err = p.Bind(in, x)
			}
			if err != nil {
				b.Fatal(err)
			}
			run(b, p, formula)
		}
	}
	b.Run("forward", program(batch*each, func(g *graph.Builder, x *graph.Node) []*graph.Node {
		return []*graph.Node{net.Forward(g, x)}
	}))
	b.Run("cross", program(cross, func(g *graph.Builder, x *graph.Node) []*graph.Node {
		return []*graph.Node{layer.Kernel.Cross(g, x, g.Param(layer.Z), class)}
	}))
	b.Run("posterior", program(cross+diag, func(g *graph.Builder, x *graph.Node) []*graph.Node {
		return []*graph.Node{net.Forward(g, x), layer.Terms(g, x).Q}
	}))
	b.Run("predict", func(b *testing.B) {
		engine, err := gp.NewEngine(newPosterior(net, layer), x.Shape()[1:], gp.EngineOptions{})
		if err != nil {
			b.Fatal(err)
		}
		predict := func() {
			if _, err := engine.PredictAll(context.Background(), x); err != nil {
				b.Fatal(err)
			}
		}
		predict() // compiles
		for b.Loop() {
			predict()
		}
		b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/batch, "ms/image")
	})
	b.Run("step", func(b *testing.B) {
		f := adamFit{Net: net, Layer: layer, Likelihood: likelihood.Softmax{}, Alpha: new(1.0), BatchSize: batch}
		obj, err := f.Objective(x, y)
		if err != nil {
			b.Fatal(err)
		}
		run(b, obj.Program(), step)
	})
	b.Run("MAP step", func(b *testing.B) {
		g := graph.NewBuilder(tensor.Float32)
		batches, err := train.NewBatches(g, x, y, batch, 1)
		if err != nil {
			b.Fatal(err)
		}
		out, updates := layers.Training(g, net, batches.X())
		obj, err := train.NewGraph(g, train.CrossEntropy(g, batches.Y(), out), net.Params(), batches, updates...)
		if err != nil {
			b.Fatal(err)
		}
		run(b, obj.Program(), 3*batch*each)
	})
}
