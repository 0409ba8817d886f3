package valla

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/raw"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/onnx"
)

// vision is a vision transformer of one block as exporters write it: a token that is repeated for all examples stands
// before the others, and one product makes queries, keys and values, which are divided along a first axis.
func vision() onnx.Graph {
	ints := func(v ...int64) onnx.Attribute { return onnx.Attribute{Ints: v} }
	whole := func(name string, v ...int64) onnx.Tensor {
		data, _ := binary.Append(nil, binary.LittleEndian, v)
		return onnx.Tensor{Name: name, Type: raw.I64, Shape: []int{len(v)}, Data: data}
	}
	g := onnx.Graph{Opset: 17, Input: "x", Output: "y",
		Constants: []onnx.Tensor{whole("zero", 0), whole("one", 1), whole("token", 1, 4), whole("five", 0, 3, 3, 2, 2), whole("three", 0, 3, 4)}}
	for name, shape := range map[string][]int{"cls": {1, 1, 4}, "pos": {1, 3, 4}, "w": {4, 12}, "b": {12}, "out": {4, 2}, "c": {2}} {
		g.Arrays = append(g.Arrays, onnx.Array{Name: name, Shape: shape})
	}
	slices.SortFunc(g.Arrays, func(a, b onnx.Array) int { return strings.Compare(a.Name, b.Name) })
	add := func(op, in, out string, a map[string]onnx.Attribute) {
		g.Nodes = append(g.Nodes, onnx.Node{Op: op, Inputs: strings.Fields(in), Outputs: strings.Fields(out), Attributes: a})
	}
	axis := func(i int64) map[string]onnx.Attribute { return map[string]onnx.Attribute{"axis": {Int: i}} }
	perm := func(v ...int64) map[string]onnx.Attribute { return map[string]onnx.Attribute{"perm": ints(v...)} }
	add("Shape", "x", "shape", nil)
	add("Slice", "shape zero one", "batch", nil)
	add("Concat", "batch token", "full", axis(0))
	add("Expand", "cls full", "tokens", nil)
	add("Concat", "tokens x", "all", axis(1))
	add("Add", "all pos", "placed", nil)
	add("MatMul", "placed w", "product", nil)
	add("Add", "product b", "qkv", nil)
	add("Reshape", "qkv five", "parts", nil)
	add("Transpose", "parts", "turned", perm(2, 0, 3, 1, 4))
	add("Split", "turned", "q1 k1 v1", axis(0))
	for _, name := range []string{"q", "k", "v"} {
		add("Squeeze", name+"1 zero", name, nil)
	}
	add("Transpose", "k", "kt", perm(0, 1, 3, 2))
	add("MatMul", "q kt", "scores", nil)
	add("Softmax", "scores", "shares", axis(-1))
	add("MatMul", "shares v", "mixed", nil)
	add("Transpose", "mixed", "heads", perm(0, 2, 1, 3))
	add("Reshape", "heads three", "joined", nil)
	add("Slice", "joined zero one one", "first", nil)
	add("Flatten", "first", "flat", axis(1))
	add("Gemm", "flat out c", "y", nil)
	return g
}

// TestExporters: networks whose exporters repeat a token for all examples, move the examples to another axis, or take
// parts of arrays have structured rows, with the values of the dense rows.
func TestExporters(t *testing.T) {
	lstm := onnx.Graph{Opset: 17, Input: "x", Output: "flat",
		Arrays: []onnx.Array{{Name: "W", Shape: []int{2, 8, 4}}, {Name: "R", Shape: []int{2, 8, 2}}, {Name: "B", Shape: []int{2, 16}}},
		Nodes: []onnx.Node{
			{Op: "Transpose", Inputs: []string{"x"}, Outputs: []string{"steps"}, Attributes: map[string]onnx.Attribute{"perm": {Ints: []int64{1, 0, 2}}}},
			{Op: "LSTM", Inputs: []string{"steps", "W", "R", "B"}, Outputs: []string{"all", "last"}, Attributes: map[string]onnx.Attribute{"hidden_size": {Int: 2}, "direction": {Text: "bidirectional"}}},
			{Op: "Transpose", Inputs: []string{"last"}, Outputs: []string{"rows"}, Attributes: map[string]onnx.Attribute{"perm": {Ints: []int64{1, 0, 2}}}},
			{Op: "Flatten", Inputs: []string{"rows"}, Outputs: []string{"flat"}, Attributes: map[string]onnx.Attribute{"axis": {Int: 1}}},
		}}
	for name, g := range map[string]onnx.Graph{"transformer": vision(), "LSTM": lstm} {
		rng := rand.New(rand.NewPCG(1, 2))
		normal := func(n int) []float64 {
			v := make([]float64, n)
			for i := range v {
				v[i] = rng.NormFloat64()
			}
			return v
		}
		net, err := layers.Build(layers.SequentialForm{Input: []int{2, 4}, Layers: layers.Layers{g}}, tensor.Float64, rng)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, p := range net.Params() {
			copy(p.Value.Float64s(), normal(p.Value.Shape().TotalSize()))
		}
		b := graph.NewBuilder(tensor.Float64)
		x := b.Const("x", normal(3*8), 3, 2, 4)
		k := jacobian.NTK{Net: net}
		for _, p := range k.FormedDensely(b, x) {
			t.Errorf("%s: the rows of %s are dense", name, p.Name)
		}
		fast := k.Diag(b, x)
		k.Dense = true
		v, err := graph.Evaluate(b, fast, k.Diag(b, x))
		if err != nil {
			t.Fatal(err)
		}
		fixture.Close(t, name, v[0], v[1], 1e-11)
	}
}
