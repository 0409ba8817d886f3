package valla

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/npy"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/onnx"
	"github.com/go-valla/valla/layers/onnx/onnxtest"
)

// transformer returns a transformer that PyTorch has exported, with its inputs and classes.
func transformer(t *testing.T) (net layers.Network, x, y *tensor.Dense) {
	t.Helper()
	const path = "../../layers/onnx/testdata/transformer_tiny"
	f, err := onnx.Read(path+".onnx", onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if net, err = f.Network(tensor.Float64); err != nil {
		t.Fatal(err)
	}
	a, err := npy.ReadArchive(path + ".npz")
	if err != nil {
		t.Fatal(err)
	}
	x, _ = a.Get("x")
	outputs, _ := a.Get("y")
	n, c := outputs.Shape()[0], outputs.Shape()[1]
	y = tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(n, c))
	for i := range n {
		y.Float64s()[i*c+i%c] = 1
	}
	return net, graph.Convert(x, tensor.Float64), y
}

// bottleneck returns a residual network with bottlenecks as PyTorch exports it, with images and
// their classes.
func bottleneck(t *testing.T) (net layers.Network, x, y *tensor.Dense) {
	t.Helper()
	f := layers.ResNet{Channels: 2, Blocks: []int{1, 1}, Shortcut: layers.Projection, Outputs: 3, Height: 6, Width: 6, Bottleneck: true}
	g, err := onnxtest.ResNet(f)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	if net, err = layers.Build(layers.SequentialForm{Input: f.InputShape(), Layers: layers.Layers{g}}, tensor.Float64, rng); err != nil {
		t.Fatal(err)
	}
	x = tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(4, 2, 6, 6))
	y = tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(4, 3))
	for i := range x.Size() {
		x.Float64s()[i] = rng.NormFloat64()
	}
	for i := range 4 {
		y.Float64s()[3*i+i%3] = 1
	}
	return net, x, y
}

// TestGradients compares the gradients of the loss by all parameters with finite differences, for
// a transformer and for a residual network, whose slopes jump: there the steps are short. The
// inducing inputs need second derivatives of the network.
func TestGradients(t *testing.T) {
	t.Run("transformer", func(t *testing.T) {
		net, x, y := transformer(t)
		checkGradients(t, net, x, y, 1e-3)
	})
	t.Run("bottleneck", func(t *testing.T) {
		net, x, y := bottleneck(t)
		checkGradients(t, net, x, y, 1e-7)
	})
}

func checkGradients(t *testing.T, net layers.Network, x, y *tensor.Dense, h float64) {
	t.Helper()
	z, err := x.Slice(tensor.S(0, 3))
	if err != nil {
		t.Fatal(err)
	}
	layer, err := NewLayer(jacobian.NTK{Net: net}, z.Materialize().(*tensor.Dense), []int{0, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range layer.L.Value.Float64s() {
		layer.L.Value.Float64s()[i] += 0.1 * rng.NormFloat64()
	}
	b := graph.NewBuilder(tensor.Float64)
	in, out := b.Input("x", x.Shape()...), b.Input("y", y.Shape()...)
	loss := layer.Loss(b, in, out, net.Forward(b, in), Objective{Likelihood: likelihood.Softmax{}, N: 50}).Loss
	params := layer.Params()
	var leaves []*graph.Node
	for _, p := range params {
		leaves = append(leaves, b.Param(p))
	}
	grads := graph.Grad(b, loss, leaves...)
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	program, err := graph.Compile(b, append(grads, loss), graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for leaf, v := range map[*graph.Node]*tensor.Dense{in: x, out: y} {
		if err := program.Bind(leaf, v); err != nil {
			t.Fatal(err)
		}
	}
	run := func() float64 {
		if err := program.Run(); err != nil {
			t.Fatal(err)
		}
		return program.Scalar(loss)
	}
	for i, p := range params {
		v := p.Value.Float64s()
		start, direction := append([]float64{}, v...), make([]float64, len(v))
		for k := range direction {
			direction[k] = rng.NormFloat64()
		}
		at := func(h float64) float64 {
			for k := range v {
				v[k] = start[k] + h*direction[k]
			}
			return run()
		}
		want := (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
		at(0)
		got := 0.0
		for k, g := range graph.Floats(program.Value(grads[i])) {
			got += g * direction[k]
		}
		if math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
			t.Errorf("%s: gradient along a direction %.10g, want %.10g", p.Name, got, want)
		}
	}
}

// TestFitExported fits networks that PyTorch has exported: all weights and some weights.
func TestFitExported(t *testing.T) {
	t.Run("transformer", func(t *testing.T) {
		net, x, y := transformer(t)
		checkFits(t, net, x, y, "head.*")
	})
	t.Run("bottleneck", func(t *testing.T) {
		net, x, y := bottleneck(t)
		checkFits(t, net, x, y, "layer2.*.conv2.weight")
	})
}

func checkFits(t *testing.T, net layers.Network, x, y *tensor.Dense, names string) {
	t.Helper()
	p := gp.Problem{Net: net, Likelihood: likelihood.Softmax{}, Train: gp.Examples{X: x, Y: y}}
	for _, weights := range [][]string{nil, {names}, {"last-layer"}, {"informative:2"}} {
		s := &Settings{Iterations: 3, Inducing: 2, BatchSize: 2, Weights: weights}
		fitted := small.Fit(t, s, p, gp.Run{Seed: 1})
		g := small.Predict(t, fitted.Posterior, x)
		if told := len(fitted.Record.Notes) > 0 && strings.HasPrefix(fitted.Record.Notes[0], "The uncertain weights"); told != slices.Equal(weights, []string{"informative:2"}) {
			t.Errorf("%q: notes %q", weights, fitted.Record.Notes)
		}
		for i, v := range g.Cov {
			if c := y.Shape()[1]; i%(c*c)%(c+1) == 0 && !(v > 0) {
				t.Errorf("%q: variance %g", weights, v)
			}
		}
	}
	if _, err := (&Settings{Weights: []string{"none"}}).Fit(t.Context(), p, gp.Run{}); err == nil {
		t.Error("an unknown name of weights is accepted")
	}
}
