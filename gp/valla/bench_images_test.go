package valla_test

import (
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// BenchmarkResNet20 has the ResNet rows of the speed table, in float32: B = 100 random
// images, M = 100, C = 10. MB is the memory of the program.
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
	labels, class := make([]int64, batch), make([]int, inducing)
	for i := range labels {
		labels[i] = int64(i % outputs)
	}
	for i := range class {
		class[i] = i % outputs
	}
	x, y := images(batch), oneHot(labels, outputs, tensor.Float32)
	layer, err := valla.New(jacobian.NTK{Net: net}, images(inducing), class)
	if err != nil {
		b.Fatal(err)
	}
	run := func(b *testing.B, p *graph.Program) {
		for b.Loop() {
			if err := p.Run(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(p.Bytes())/1e6, "MB")
	}
	program := func(f func(g *graph.Builder, x *graph.Node) []*graph.Node) func(*testing.B) {
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
			run(b, p)
		}
	}
	b.Run("forward", program(func(g *graph.Builder, x *graph.Node) []*graph.Node {
		return []*graph.Node{net.Forward(g, x)}
	}))
	b.Run("cross", program(func(g *graph.Builder, x *graph.Node) []*graph.Node {
		return []*graph.Node{layer.Kernel.Cross(g, x, g.Param(layer.Z), class)}
	}))
	b.Run("posterior", program(func(g *graph.Builder, x *graph.Node) []*graph.Node {
		return []*graph.Node{net.Forward(g, x), layer.Terms(g, x).Q}
	}))
	b.Run("step", func(b *testing.B) {
		f := valla.Fit{Net: net, Layer: layer, Likelihood: likelihood.Softmax{}, Alpha: new(1.0), BatchSize: batch}
		obj, err := f.Objective(train.Rows{All: x}, y)
		if err != nil {
			b.Fatal(err)
		}
		run(b, obj.Program())
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
		run(b, obj.Program())
	})
}
