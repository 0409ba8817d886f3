package onnx

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/raw"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/layertest"
)

// exact is a graph at examples for which its outputs are known to the last bit.
type exact struct {
	name  string
	g     Graph
	input []int     // shape of one example
	x     []float64 // examples
	y     []float64 // outputs
	slope []float64 // derivative of the sum of the outputs by each x; nil if it is not checked
}

// checkExact computes each graph in both element types. Numbers are rounded to float32 before they are compared.
func checkExact(t *testing.T, all []exact) {
	for _, c := range all {
		for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			t.Run(c.name+" "+dt.String(), func(t *testing.T) {
				y, slope := computed(t, c.g, dt, c.input, c.x)
				same := func(a, b float64) bool { return float32(a) == float32(b) || a != a && b != b }
				if !slices.EqualFunc(y, c.y, same) {
					t.Errorf("at %v: outputs %v, want %v", c.x, y, c.y)
				}
				if c.slope != nil && !slices.EqualFunc(slope, c.slope, same) {
					t.Errorf("at %v: derivatives %v, want %v", c.x, slope, c.slope)
				}
			})
		}
	}
}

// computed returns the outputs of a graph without weights for examples, and the derivative of their sum by each number.
func computed(t *testing.T, g Graph, dt tensor.Dtype, input []int, x []float64) (y, slope []float64) {
	t.Helper()
	net, err := layers.Build(layers.SequentialForm{Input: input, Layers: layers.Layers{g}}, dt, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(dt)
	in := b.Const("x", x, append([]int{len(x) / product(input)}, input...)...)
	out := net.Forward(b, in)
	at := graph.Grad(b, b.Sum(out), in)[0]
	p, err := graph.Compile(b, []*graph.Node{out, at}, graph.Options{})
	if err == nil {
		err = p.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	return graph.Floats(p.Value(out)), graph.Floats(p.Value(at))
}

// largest32 is the largest float32, which exporters write where there is no bound.
const largest32 = math.MaxFloat32

// TestBounds: bounds far beyond all numbers leave the numbers as they are.
func TestBounds(t *testing.T) {
	x, ones := []float64{-2, 0.1, 3, 7}, []float64{1, 1, 1, 1}
	checkExact(t, []exact{
		{"Max with the lowest number", one("Max", nil, floatsOf(-largest32)), []int{4}, x, x, ones},
		{"Min with the largest number", one("Min", nil, floatsOf(largest32)), []int{4}, x, x, ones},
		{"Max of three", one("Max", nil, floatsOf(-largest32), floatsOf(0)), []int{4}, x, []float64{0, 0.1, 3, 7}, []float64{0, 1, 1, 1}},
		{"Max at a far number", one("Max", nil, floatsOf(largest32)), []int{4}, x, slices.Repeat([]float64{largest32}, 4), []float64{0, 0, 0, 0}},
		{"Clip from the lowest number", one("Clip", nil, floatsOf(-largest32), floatsOf(6)), []int{4}, x, []float64{-2, 0.1, 3, 6}, []float64{1, 1, 1, 0}},
		{"Clip to the largest number", one("Clip", nil, nil, floatsOf(largest32)), []int{4}, x, x, ones},
		{"Clip from 0 to the largest number", one("Clip", nil, floatsOf(0), floatsOf(largest32)), []int{4}, x, []float64{0, 0.1, 3, 7}, []float64{0, 1, 1, 1}},
		{"Clip to float16", one("Clip", nil, floatsOf(-65504), floatsOf(65504)), []int{4}, x, x, ones},
		{"Clip between bounds in the wrong order", one("Clip", nil, floatsOf(2), floatsOf(1)), []int{4}, x, ones, []float64{0, 0, 0, 0}},
		{"Clip keeps the bounds", one("Clip", nil, floatsOf(0.1), floatsOf(3)), []int{4}, x, []float64{0.1, 0.1, 3, 3}, []float64{0, 0, 0, 0}},
	})
}

// TestSqueeze: without axes, Squeeze takes those that have one place for any number of examples.
func TestSqueeze(t *testing.T) {
	layertest.Conform(t, []layertest.Case{
		{Name: "at the end", Layer: chain(nodeOf("MatMul", nil, "p", "x", "w"), node("Squeeze", "p", "y")).array("w", 3, 1), Input: []int{3}, Naive: func(net layers.Network, x []float64) []float64 {
			w := weightsOf(net, 0)
			return []float64{w[0]*x[0] + w[1]*x[1] + w[2]*x[2]}
		}},
		{Name: "of nothing", Layer: one("Squeeze", nil), Input: []int{3}, Naive: picked(0, 0, 1, 2)},
		{Name: "of two axes", Layer: one("Squeeze", nil, nil), Input: []int{1, 3, 1}, Naive: picked(0, 0, 1, 2)},
		{Name: "with the examples on axis 1", Layer: chain(nodeOf("Transpose", attributes{"perm": list(1, 0, 2)}, "t", "x"), node("Squeeze", "t", "s"), nodeOf("Transpose", attributes{"perm": list(1, 0)}, "y", "s")),
			Input: []int{3, 1}, Naive: picked(0, 0, 1, 2)},
	})
}

// TestSelected: what is not selected leaves no trace, even where it is infinite or no number, in values and in derivatives.
func TestSelected(t *testing.T) {
	positive := func(nodes ...Node) Graph {
		return chain(append([]Node{nodeOf("Greater", nil, "c", "x", "0")}, nodes...)...).constant("0", floatsOf(0))
	}
	below := []float64{-1, 1}
	// r is infinite where x is 0.
	huge := func(nodes ...Node) Graph { return chain(append([]Node{node("Reciprocal", "x", "r")}, nodes...)...) }
	at := []float64{0.5, 0}
	checkExact(t, []exact{
		{"a logarithm", positive(node("Log", "x", "l"), nodeOf("Where", nil, "y", "c", "l", "0")), []int{2}, below, []float64{0, 0}, []float64{0, 1}},
		{"a logarithm, the other way", positive(node("Not", "c", "d"), node("Log", "x", "l"), nodeOf("Where", nil, "y", "d", "x", "l")), []int{2}, below, []float64{-1, 0}, []float64{1, 1}},
		{"a constant condition", chain(node("Log", "x", "l"), nodeOf("Where", nil, "y", "k", "l", "x")).constant("k", integersOf(0, 3)), []int{2}, below, []float64{-1, 0}, []float64{1, 1}},
		{"a condition of more axes", chain(nodeOf("Where", nil, "w", "k", "x", "x"), node("Squeeze", "w", "y")).constant("k", constantOf(raw.I64, []int{1, 1, 1}, 1)), []int{2}, below, below, nil},
		{"GatherElements", huge(nodeOf("ArgMax", attributes{"axis": whole(1)}, "i", "x"), nodeOf("GatherElements", attributes{"axis": whole(1)}, "y", "r", "i")), []int{2}, at, []float64{2}, nil},
		{"GatherND", huge(nodeOf("ArgMax", attributes{"axis": whole(1)}, "i", "x"), nodeOf("GatherND", attributes{"batch_dims": whole(1)}, "y", "r", "i")), []int{2}, at, []float64{2}, nil},
		{"TopK", huge(nodeOf("TopK", attributes{"largest": whole(0)}, "y", "r", "k")).constant("k", integersOf(1)), []int{2}, at, []float64{2}, nil},
		{"Trilu", huge(nodeOf("Reshape", nil, "q", "r", "s"), node("Trilu", "q", "t"), nodeOf("Reshape", nil, "y", "t", "f")).constant("s", integersOf(0, 2, 2)).constant("f", integersOf(0, 4)), []int{4}, []float64{0.5, 1, 0, 0.25}, []float64{2, 1, 0, 4}, nil},
		{"ScatterND", huge(node("Transpose", "r", "t"), nodeOf("Slice", nil, "p", "t", "0", "1"), nodeOf("ScatterND", nil, "u", "t", "i", "p"), node("Transpose", "u", "y")).constant("i", constantOf(raw.I64, []int{1, 1}, 1)).constant("0", integersOf(0)).constant("1", integersOf(1)), []int{2}, at, []float64{2, 2}, nil},
		{"ThresholdedRelu", one("ThresholdedRelu", nil), []int{3}, []float64{math.Inf(-1), 1, 2}, []float64{0, 0, 2}, []float64{0, 0, 1}},
		{"Shrink", one("Shrink", nil), []int{3}, []float64{math.Inf(-1), 0, 2}, []float64{math.Inf(-1), 0, 2}, []float64{1, 0, 1}},
	})
}

// TestRest: Mod has the sign of the divisor, or that of the dividend with fmod.
func TestRest(t *testing.T) {
	x := []float64{-5, 5, -6, 7.5}
	whole := attributes{"fmod": whole(1)}
	checkExact(t, []exact{
		{"of a positive number", one("Mod", nil, floatsOf(3)), []int{4}, x, []float64{1, 2, 0, 1.5}, []float64{1, 1, 1, 1}},
		{"of a negative number", one("Mod", nil, floatsOf(-3)), []int{4}, x, []float64{-2, -1, 0, -1.5}, []float64{1, 1, 1, 1}},
		{"fmod of a positive number", one("Mod", whole, floatsOf(3)), []int{4}, x, []float64{-2, 2, 0, 1.5}, []float64{1, 1, 1, 1}},
		{"fmod of a negative number", one("Mod", whole, floatsOf(-3)), []int{4}, x, []float64{-2, 2, 0, 1.5}, []float64{1, 1, 1, 1}},
		{"a quotient of constant rests", chain(nodeOf("Mod", whole, "m", "c", "d"), nodeOf("Mod", whole, "n", "e", "d"), nodeOf("Div", nil, "q", "m", "n"), nodeOf("Add", nil, "y", "x", "q")).constant("c", floatsOf(7)).constant("d", floatsOf(4)).constant("e", floatsOf(6)), []int{1}, []float64{0}, []float64{1.5}, nil},
		{"fmod of constants", constantNode("Mod", whole, floatsOf(-5, 5, -6, 7.5), floatsOf(3)), []int{4}, []float64{0, 0, 0, 0}, []float64{-2, 2, 0, 1.5}, nil},
	})
}

// TestInfinite: IsInf finds the signs that it is asked for, among constants.
func TestInfinite(t *testing.T) {
	values := floatsOf(math.Inf(-1), 0, math.Inf(1))
	of := func(a attributes) Graph {
		return chain(nodeOf("IsInf", a, "i", "c"), nodeOf("Cast", attributes{"to": whole(1)}, "f", "i"), nodeOf("Add", nil, "y", "x", "f")).constant("c", values)
	}
	zeros := []float64{0, 0, 0}
	checkExact(t, []exact{
		{"both", of(nil), []int{3}, zeros, []float64{1, 0, 1}, nil},
		{"above", of(attributes{"detect_negative": whole(0)}), []int{3}, zeros, []float64{0, 0, 1}, nil},
		{"below", of(attributes{"detect_positive": whole(0)}), []int{3}, zeros, []float64{1, 0, 0}, nil},
	})
}

// TestIntegers: quotients of integers are whole, for every pair of them, wherever the integers come from.
func TestIntegers(t *testing.T) {
	var x, sevenths, self []float64
	for k := -60; k <= 60; k++ {
		x = append(x, float64(49*k))
		sevenths = append(sevenths, math.Trunc(float64(49*k)/49))
		self = append(self, math.Trunc(float64(49*k)/float64(49*k+1)))
	}
	cast := func(more ...Node) Graph {
		return chain(append([]Node{nodeOf("Cast", attributes{"to": whole(7)}, "i", "x")}, more...)...)
	}
	n := []int{len(x)}
	halves := []float64{-1.5, 1.5}
	checkExact(t, []exact{
		{"by a constant", cast(nodeOf("Div", nil, "y", "i", "c")).constant("c", integersOf(49)), n, x, sevenths, nil},
		{"by a node", cast(nodeOf("Add", nil, "j", "i", "c"), nodeOf("Reshape", nil, "k", "j", "s"), nodeOf("Div", nil, "y", "i", "k")).constant("c", integersOf(1)).constant("s", integersOf(0, -1)), n, x, self, nil},
		{"of numbers", chain(nodeOf("Add", nil, "j", "x", "c"), nodeOf("Div", nil, "y", "x", "j")).constant("c", floatsOf(1)), []int{2}, []float64{1, 3}, []float64{0.5, 0.75}, nil},
		{"of places", chain(nodeOf("ArgMax", attributes{"axis": whole(1)}, "a", "x"), nodeOf("Add", nil, "j", "a", "c"), nodeOf("Div", nil, "y", "a", "j")).constant("c", integersOf(1)), []int{3}, []float64{0, 1, 5}, []float64{0}, nil},
		{"places of TopK", chain(Node{Op: "TopK", Inputs: []string{"x", "k"}, Outputs: []string{"v", "i"}}, nodeOf("Add", nil, "j", "i", "c"), nodeOf("Div", nil, "q", "i", "j"), nodeOf("Add", nil, "y", "q", "v")).constant("c", integersOf(1)).constant("k", integersOf(1)), []int{3}, []float64{0, 1, 5}, []float64{5}, nil},
		{"CastLike numbers", chain(nodeOf("CastLike", nil, "c", "2", "x"), nodeOf("Div", nil, "y", "x", "c")).constant("2", integersOf(2)), []int{2}, []float64{1, 3}, []float64{0.5, 1.5}, nil},
		{"CastLike an integer", chain(nodeOf("CastLike", nil, "y", "x", "2")).constant("2", integersOf(2)), []int{2}, halves, []float64{-1, 1}, nil},
		{"CastLike an integer node", cast(nodeOf("CastLike", nil, "y", "x", "i")), []int{2}, halves, []float64{-1, 1}, nil},
		{"CastLike a truth", chain(nodeOf("Greater", nil, "g", "x", "x"), nodeOf("CastLike", nil, "y", "x", "g")), []int{2}, halves, []float64{1, 1}, nil},
		{"CastLike a constant truth", chain(nodeOf("CastLike", nil, "y", "x", "b")).constant("b", Tensor{Type: raw.Bool, Shape: []int{1}, Data: []byte{0}}), []int{2}, halves, []float64{1, 1}, nil},
		{"Cast to uint32", chain(nodeOf("Cast", attributes{"to": whole(12)}, "y", "x")), []int{2}, []float64{0.5, 1.5}, []float64{0, 1}, nil},
	})
}

// TestPadInfinite: a pool over a border of −∞, as timm's MaxPool2dSame writes it, takes numbers alone.
func TestPadInfinite(t *testing.T) {
	for _, low := range []float64{math.Inf(-1), -largest32} {
		g := chain(nodeOf("Pad", nil, "p", "x", "n", "c"), nodeOf("MaxPool", attributes{"kernel_shape": list(2, 2), "strides": list(2, 2)}, "m", "p"), nodeOf("Flatten", nil, "y", "m")).
			constant("n", integersOf(0, 0, 0, 1, 0, 0, 1, 0)).constant("c", floatsOf(low))
		checkExact(t, []exact{{"a pool", g, []int{1, 1, 3}, []float64{-7, -5, -6}, []float64{-7, -5}, []float64{1, 1, 0}}})
	}
}

// TestPow: powers by whole exponents of any numbers, and by others of numbers from 0 on.
func TestPow(t *testing.T) {
	x := []float64{-2, -1, 0, 2}
	whole := func(p float64) exact {
		c := exact{fmt.Sprint("exponent ", p), one("Pow", nil, floatsOf(p)), []int{4}, x, nil, nil}
		for _, v := range x {
			c.y = append(c.y, math.Pow(v, p))
			c.slope = append(c.slope, p*math.Pow(v, p-1))
		}
		return c
	}
	for _, p := range []float64{0, 1, 2, 3, 7, 8, 9, 13, 64, 101} {
		c := whole(p)
		if p == 0 {
			c.slope = []float64{0, 0, 0, 0}
		}
		checkExact(t, []exact{c})
	}
	for _, p := range []float64{-1, -2, -9} {
		c := whole(p)
		c.x, c.y, c.slope = []float64{-2, -1, 1, 2}, []float64{math.Pow(-2, p), math.Pow(-1, p), 1, math.Pow(2, p)}, []float64{p * math.Pow(-2, p-1), p * math.Pow(-1, p-1), p, p * math.Pow(2, p-1)}
		checkExact(t, []exact{c})
	}
	checkExact(t, []exact{
		{"exponent 1.5 at 0", one("Pow", nil, floatsOf(1.5)), []int{2}, []float64{0, 1}, []float64{0, 1}, []float64{0, 1.5}},
		{"exponent 2.5 at 0", one("Pow", nil, floatsOf(2.5)), []int{2}, []float64{0, 1}, []float64{0, 1}, []float64{0, 2.5}},
		{"exponent 1.3 of a number below 0", one("Pow", nil, floatsOf(1.3)), []int{2}, []float64{-1, 1}, []float64{math.NaN(), 1}, nil},
	})
}
