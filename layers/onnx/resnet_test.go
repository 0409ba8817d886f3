package onnx_test

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/onnx"
	"github.com/go-valla/valla/layers/onnx/onnxtest"
)

// both returns a residual network as package layers makes it and as an ONNX file gives it, with
// the same weights, which are float32.
func both(t testing.TB, f layers.ResNet, dt tensor.Dtype) (net, read layers.Network) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	built, err := f.New(dt, rng)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]*tensor.Dense{}
	for _, p := range layers.Arrays(built) {
		for i := range p.Value.Size() {
			v := p.At(i)
			if p.Value.Dims() == 1 {
				v += 0.2 * rng.Float64() // statistics and gains that are not trivial
			}
			p.Set(i, float64(float32(v)))
		}
		values[p.Name] = p.Value
		if p.Value.Dims() == 2 { // stored by outputs in the file
			values[p.Name] = transposed(p.Value)
		}
	}
	g, err := onnxtest.ResNet(f)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "net.onnx")
	if err := os.WriteFile(path, onnxtest.Encode(g, f.InputShape(), func(name string) *tensor.Dense { return values[name] }), 0o644); err != nil {
		t.Fatal(err)
	}
	file, err := onnx.Read(path, onnx.Options{})
	if err == nil {
		read, err = file.Network(dt)
	}
	if err != nil {
		t.Fatal(err)
	}
	return built, read
}

func transposed(v *tensor.Dense) *tensor.Dense {
	s, in := v.Shape(), graph.Floats(v)
	out := make([]float64, len(in))
	for i, x := range in {
		out[i%s[1]*s[0]+i/s[1]] = x
	}
	return tensor.New(tensor.WithShape(s[1], s[0]), tensor.WithBacking(out))
}

// small are residual networks of a few layers, one with bottlenecks and one for large images.
var small = map[string]layers.ResNet{
	"basic":      {Channels: 2, Blocks: []int{1, 1}, Shortcut: layers.Projection, Outputs: 3, Height: 6, Width: 6},
	"bottleneck": {Channels: 1, Blocks: []int{1, 1}, Shortcut: layers.Projection, Outputs: 3, Height: 6, Width: 5, Bottleneck: true},
	"large":      {Channels: 1, Blocks: []int{1}, Shortcut: layers.Projection, Outputs: 2, Height: 16, Width: 16, Large: true},
}

// TestResNets compares residual networks from files with networks of package layers: the outputs,
// the kernels and the numbers of steps.
func TestResNets(t *testing.T) {
	for name, f := range small {
		t.Run(name, func(t *testing.T) {
			net, read := both(t, f, tensor.Float64)
			var got [2][][]float64
			var steps [2]int
			for i, n := range []layers.Network{net, read} {
				b := graph.NewBuilder(tensor.Float64)
				nodes, _ := kernels(b, n, f, 3)
				p, err := graph.Compile(b, nodes, graph.Options{})
				if err == nil {
					err = p.Run()
				}
				if err != nil {
					t.Fatal(err)
				}
				_, steps[i] = p.Steps()
				for _, n := range nodes {
					got[i] = append(got[i], graph.Floats(p.Value(n)))
				}
			}
			if steps[0] != steps[1] {
				t.Errorf("%d steps, want %d as in package layers", steps[1], steps[0])
			}
			for i, what := range []string{"outputs", "variances", "cross"} {
				scale := max(slices.Max(got[0][i]), -slices.Min(got[0][i]))
				for k, v := range got[1][i] {
					if math.Abs(v-got[0][i][k]) > 1e-9*scale {
						t.Fatalf("%s: element %d is %.12g, want %.12g", what, k, v, got[0][i][k])
					}
				}
			}
		})
	}
}

// kernels writes a network's outputs, variances and the kernel among n images into b.
func kernels(b *graph.Builder, net layers.Network, f layers.ResNet, n int) (nodes []*graph.Node, in *graph.Node) {
	rng := rand.New(rand.NewPCG(7, 8))
	x := tensor.New(tensor.Of(b.Dtype()), tensor.WithShape(append([]int{n}, f.InputShape()...)...))
	p, class := &graph.Param{Name: "x", Value: x}, make([]int, n)
	for i := range x.Size() {
		p.Set(i, rng.NormFloat64())
	}
	k := jacobian.NTK{Net: net}
	in = b.Param(p)
	return []*graph.Node{net.Forward(b, in), k.Variances(b, in), k.Cross(b, in, in, class)}, in
}

// BenchmarkKernel compares the kernel of a network from a file with the kernel of the same network
// of package layers (float32, ResNet-20, 10 images).
func BenchmarkKernel(b *testing.B) {
	f, err := layers.NewResNet(20, layers.Projection, 10)
	if err != nil {
		b.Fatal(err)
	}
	net, read := both(b, f, tensor.Float32)
	for name, n := range map[string]layers.Network{"layers": net, "onnx": read} {
		b.Run(name, func(b *testing.B) {
			g := graph.NewBuilder(tensor.Float32)
			nodes, x := kernels(g, n, f, 10)
			p, err := graph.Compile(g, nodes, graph.Options{Varying: []*graph.Node{x}})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := p.Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
