package onnx_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/layertest"
	"github.com/go-valla/valla/layers/onnx"
	"github.com/go-valla/valla/layers/onnx/onnxtest"
	"gorgonia.org/tensor"
)

// swish is x·sigmoid(beta·x) plus an optional bias, as an operator of another package.
func swish(b *graph.Builder, n onnx.Node, in []*graph.Node) ([]*graph.Node, error) {
	a, ok := n.Attributes["beta"]
	if !ok {
		return nil, errors.New("the attribute beta is missing")
	}
	y := b.Mul(in[0], b.Sigmoid(b.Scale(in[0], a.Float)))
	if len(in) > 1 && in[1] != nil {
		y = b.Add(y, in[1])
	}
	return []*graph.Node{y}, nil
}

func init() {
	onnx.Register("com.example::Swish", swish)
	onnx.Register("Halves", func(b *graph.Builder, _ onnx.Node, in []*graph.Node) ([]*graph.Node, error) {
		return []*graph.Node{b.Slice(in[0], 1, 0, 1), b.Slice(in[0], 1, 1, 2)}, nil
	})
	onnx.Register("Nothing", func(*graph.Builder, onnx.Node, []*graph.Node) ([]*graph.Node, error) { return nil, nil })
	onnx.Register("Broken", func(b *graph.Builder, _ onnx.Node, in []*graph.Node) ([]*graph.Node, error) {
		return in[:len(in)+cap(in)], nil
	})
	onnx.Register("Misfit", func(b *graph.Builder, _ onnx.Node, in []*graph.Node) ([]*graph.Node, error) {
		return []*graph.Node{b.Reshape(in[0], 7, 7)}, nil
	})
}

// swished is a graph of a dense layer and the operator.
func swished(inputs ...string) onnx.Graph {
	return onnx.Graph{
		Opset: 17, Input: "x", Output: "y", Arrays: []onnx.Array{{Name: "w", Shape: []int{2, 3}}, {Name: "b", Shape: []int{3}}},
		Nodes: []onnx.Node{
			{Op: "MatMul", Inputs: []string{"x", "w"}, Outputs: []string{"h"}},
			{Op: "com.example::Swish", Inputs: inputs, Outputs: []string{"y"}, Attributes: map[string]onnx.Attribute{"beta": {Float: 1.5}}},
		},
	}
}

// TestRegisteredOperator: an operator of another package passes the checks of a layer, is listed,
// and is read from a file under its domain.
func TestRegisteredOperator(t *testing.T) {
	naive := func(net layers.Network, x []float64) []float64 {
		w, bias := net.Params()[0], net.Params()[1]
		y := make([]float64, 3)
		for j := range y {
			h := x[0]*w.At(j) + x[1]*w.At(3+j)
			y[j] = h/(1+math.Exp(-1.5*h)) + bias.At(j)
		}
		return y
	}
	layertest.Conform(t, []layertest.Case{{Name: "with a bias", Layer: swished("h", "b"), Input: []int{2}, Naive: naive}})
	if !slices.Contains(onnx.Operators(), "com.example::Swish") {
		t.Errorf("the operator is not among %q", onnx.Operators())
	}
	values := map[string]*tensor.Dense{
		"w": tensor.New(tensor.WithShape(2, 3), tensor.WithBacking([]float64{1, -2, 0.5, 0.25, 3, -1})),
		"b": tensor.New(tensor.WithShape(3), tensor.WithBacking([]float64{0.5, 0, -1})),
	}
	path := filepath.Join(t.TempDir(), "swish.onnx")
	file := onnxtest.Encode(swished("h", "b"), []int{2}, func(name string) *tensor.Dense { return values[name] })
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := onnx.Read(path, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	net, err := f.Network(tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(tensor.Float64)
	y := net.Forward(b, b.Const("x", []float64{0.3, -0.7}, 1, 2))
	program, err := graph.Compile(b, []*graph.Node{y}, graph.Options{})
	if err == nil {
		err = program.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range naive(net, []float64{0.3, -0.7}) {
		if got := program.Value(y).Float64s()[i]; math.Abs(got-want) > 1e-12 {
			t.Errorf("output %d is %g, want %g", i, got, want)
		}
	}
}

// TestRegisteredOutputs: an operator has several outputs, and misses inputs that a file leaves out.
func TestRegisteredOutputs(t *testing.T) {
	g := onnx.Graph{Opset: 17, Input: "x", Output: "y", Nodes: []onnx.Node{
		{Op: "Halves", Inputs: []string{"x"}, Outputs: []string{"first", "second"}},
		{Op: "Sub", Inputs: []string{"second", "first"}, Outputs: []string{"y"}},
	}}
	layertest.Conform(t, []layertest.Case{
		{Name: "two outputs", Layer: g, Input: []int{2}, Naive: func(_ layers.Network, x []float64) []float64 { return []float64{x[1] - x[0]} }},
	})
	left := swished("h", "")
	left.Arrays = left.Arrays[:1]
	if out, err := layers.OutputShape(layers.Layers{left}, 2); err != nil || !slices.Equal(out, []int{3}) {
		t.Errorf("without a bias: shape %v, error %v", out, err)
	}
}

// TestRegisteredErrors: what an operator refuses is an error with the node's name.
func TestRegisteredErrors(t *testing.T) {
	without := swished("h")
	without.Arrays, without.Nodes[1].Attributes = without.Arrays[:1], nil
	one := func(op string) onnx.Graph {
		return onnx.Graph{Opset: 17, Input: "x", Output: "y", Nodes: []onnx.Node{{Op: op, Inputs: []string{"x"}, Outputs: []string{"y"}}}}
	}
	for want, g := range map[string]onnx.Graph{
		`node 2 "y" (com.example::Swish, opset 17): the attribute beta is missing`:                         without,
		`node 1 "y" (Nothing, opset 17): the operator gives no output`:                                     one("Nothing"),
		`node 1 "y" (Misfit, opset 17): graph: `:                                                           one("Misfit"),
		`node 1 "y" (Broken, opset 17): the operator broke off: "runtime error: slice bounds out of range`: one("Broken"),
		`node 1 "y" (com.example::Gone, opset 17): this operator is not supported`:                         one("com.example::Gone"),
	} {
		_, err := layers.OutputShape(layers.Layers{g}, 2)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestRegisterTwice: a name that is taken is refused, and the operator of that name stays.
func TestRegisterTwice(t *testing.T) {
	before := len(onnx.Operators())
	for _, name := range []string{"", "Relu", "com.example::Swish"} {
		func() {
			defer func() {
				if r := recover(); !strings.Contains(fmt.Sprint(r), fmt.Sprintf("the operator %q is empty or registered twice", name)) {
					t.Errorf("%q: %v", name, r)
				}
			}()
			onnx.Register(name, swish)
		}()
	}
	if n := len(onnx.Operators()); n != before {
		t.Errorf("%d operators, want %d", n, before)
	}
}
