package onnx

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/raw"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/layertest"
)

// Parts of graphs.
type attributes = map[string]Attribute

func number(v float64) Attribute   { return Attribute{Float: v} }
func whole(v int64) Attribute      { return Attribute{Int: v} }
func list(v ...int64) Attribute    { return Attribute{Ints: v} }
func textOf(s string) Attribute    { return Attribute{Text: s} }
func weights(s ...int) Array       { return Array{Shape: s} }
func integersOf(v ...int64) Tensor { return constantOf(raw.I64, []int{len(v)}, v...) }

func constantOf(t raw.Type, shape []int, v ...int64) Tensor {
	c := Tensor{Type: t, Shape: shape}
	for _, x := range v {
		c.Data = binary.LittleEndian.AppendUint64(c.Data, uint64(x))
	}
	return c
}

func floatsOf(v ...float64) Tensor {
	c := Tensor{Type: raw.F64, Shape: []int{len(v)}}
	for _, x := range v {
		c.Data = binary.LittleEndian.AppendUint64(c.Data, math.Float64bits(x))
	}
	return c
}

// one is a graph of one node whose inputs are x and then arrays w1, w2, … or constants c1, c2, …;
// nil leaves an input out.
func one(op string, a attributes, inputs ...any) Graph {
	g := Graph{Opset: 18, Input: "x", Output: "y", Nodes: []Node{{Op: op, Inputs: []string{"x"}, Outputs: []string{"y"}, Attributes: a}}}
	for i, in := range inputs {
		name := string(rune('a' + i))
		switch in := in.(type) {
		case Array:
			in.Name = name
			g.Arrays = append(g.Arrays, in)
		case Tensor:
			in.Name = name
			g.Constants = append(g.Constants, in)
		default:
			name = ""
		}
		g.Nodes[0].Inputs = append(g.Nodes[0].Inputs, name)
	}
	return g
}

// with returns g with another opset.
func (g Graph) with(opset int) Graph {
	g.Opset = opset
	return g
}

type naive = func(net layers.Network, x []float64) []float64

func each(f func(x float64) float64) naive {
	return func(_ layers.Network, x []float64) []float64 {
		for i, v := range x {
			x[i] = f(v)
		}
		return x
	}
}

// picked takes elements of the input by their places; −1 is the number other.
func picked(other float64, places ...int) naive {
	return func(_ layers.Network, x []float64) (y []float64) {
		for _, k := range places {
			if k < 0 {
				y = append(y, other)
			} else {
				y = append(y, x[k])
			}
		}
		return y
	}
}

func weightsOf(net layers.Network, i int) []float64 { return net.Params()[i].Floats() }

// normed normalises groups of n elements; scale and shift say which weight belongs to element i.
func normed(n int, eps float64, weight func(i int) int) naive {
	return func(net layers.Network, x []float64) []float64 {
		scale, shift := weightsOf(net, 0), weightsOf(net, 1)
		for from := 0; from < len(x); from += n {
			mean, square := 0.0, 0.0
			for _, v := range x[from : from+n] {
				mean += v / float64(n)
			}
			for _, v := range x[from : from+n] {
				square += (v - mean) * (v - mean) / float64(n)
			}
			for i := range x[from : from+n] {
				k := from + i
				x[k] = (x[k]-mean)/math.Sqrt(square+eps)*scale[weight(k)] + shift[weight(k)]
			}
		}
		return x
	}
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

var cases = []layertest.Case{
	{Name: "Abs", Layer: one("Abs", nil), Input: []int{5}, Naive: each(math.Abs)},
	{Name: "Reciprocal of Exp", Layer: chain(node("Exp", "x", "e"), node("Reciprocal", "e", "y")), Input: []int{5}, Naive: each(func(x float64) float64 { return math.Exp(-x) })},
	{Name: "Mish", Layer: one("Mish", nil), Input: []int{5}, Naive: each(func(x float64) float64 { return x * math.Tanh(math.Log1p(math.Exp(x))) })},
	{Name: "HardSwish", Layer: one("HardSwish", nil), Input: []int{5}, Naive: each(func(x float64) float64 { return x * min(max(x/6+0.5, 0), 1) })},
	{Name: "HardSigmoid", Layer: one("HardSigmoid", attributes{"alpha": number(0.3), "beta": number(0.4)}), Input: []int{5}, Naive: each(func(x float64) float64 { return min(max(0.3*x+0.4, 0), 1) })},
	{Name: "Softsign", Layer: one("Softsign", nil), Input: []int{5}, Naive: each(func(x float64) float64 { return x / (1 + math.Abs(x)) })},
	{Name: "LeakyRelu", Layer: one("LeakyRelu", attributes{"alpha": number(0.2)}), Input: []int{5}, Naive: each(func(x float64) float64 { return max(x, 0.2*x) })},
	{Name: "Elu", Layer: one("Elu", attributes{"alpha": number(0.7)}), Input: []int{5}, Naive: each(func(x float64) float64 { return max(x, 0) + min(0, 0.7*(math.Exp(x)-1)) })},
	{Name: "Celu", Layer: one("Celu", attributes{"alpha": number(0.7)}), Input: []int{5}, Naive: each(func(x float64) float64 { return max(x, 0) + min(0, 0.7*(math.Exp(x/0.7)-1)) })},
	{Name: "Selu", Layer: one("Selu", nil), Input: []int{5}, Naive: each(func(x float64) float64 {
		return 1.0507009873554805 * (max(x, 0) + min(0, 1.6732632423543772*(math.Exp(x)-1)))
	})},
	{Name: "Gelu", Layer: one("Gelu", nil).with(20), Input: []int{5}, Naive: each(func(x float64) float64 { return x * (1 + math.Erf(x/math.Sqrt2)) / 2 })},
	{Name: "Gelu by tanh", Layer: one("Gelu", attributes{"approximate": textOf("tanh")}).with(20), Input: []int{5}, Naive: each(func(x float64) float64 {
		return x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))) / 2
	})},
	{Name: "PRelu", Layer: one("PRelu", nil, weights(5)), Input: []int{5}, Naive: func(net layers.Network, x []float64) []float64 {
		for i, v := range x {
			x[i] = max(v, 0) + weightsOf(net, 0)[i]*min(v, 0)
		}
		return x
	}},
	{Name: "Clip", Layer: one("Clip", nil, floatsOf(-0.5), floatsOf(0.6)), Input: []int{5}, Naive: each(func(x float64) float64 { return min(max(x, -0.5), 0.6) })},
	{Name: "Clip below", Layer: one("Clip", nil, floatsOf(-0.5)), Input: []int{5}, Naive: each(func(x float64) float64 { return max(x, -0.5) })},
	{Name: "Clip above", Layer: one("Clip", nil, nil, floatsOf(0.6)), Input: []int{5}, Naive: each(func(x float64) float64 { return min(x, 0.6) })},
	{Name: "Pow 3", Layer: one("Pow", nil, floatsOf(3)), Input: []int{5}, Naive: each(func(x float64) float64 { return x * x * x })},
	{Name: "Pow −0.5", Layer: chain(node("Exp", "x", "e"), Node{Op: "Pow", Inputs: []string{"e", "c"}, Outputs: []string{"y"}}).constant("c", floatsOf(-0.5)), Input: []int{5}, Naive: each(func(x float64) float64 { return math.Exp(-x / 2) })},
	{Name: "Pow of 3", Layer: Graph{Opset: 13, Input: "x", Output: "y", Nodes: []Node{{Op: "Pow", Inputs: []string{"c", "x"}, Outputs: []string{"y"}}}}.constant("c", floatsOf(3)), Input: []int{5}, Naive: each(func(x float64) float64 { return math.Pow(3, x) })},
	{Name: "Pow of two", Layer: chain(node("Exp", "x", "e"), Node{Op: "Pow", Inputs: []string{"e", "x"}, Outputs: []string{"y"}}), Input: []int{5}, Naive: each(func(x float64) float64 { return math.Exp(x * x) })},
	{Name: "Max", Layer: one("Max", nil, floatsOf(0.1, -0.2, 0.3)), Input: []int{3}, Naive: func(_ layers.Network, x []float64) []float64 {
		return []float64{max(x[0], 0.1), max(x[1], -0.2), max(x[2], 0.3)}
	}},
	{Name: "Min of weights", Layer: one("Min", nil, weights(3)), Input: []int{3}, Naive: func(net layers.Network, x []float64) []float64 {
		for i := range x {
			x[i] = min(x[i], weightsOf(net, 0)[i])
		}
		return x
	}},
	{Name: "Sub from a number", Layer: Graph{Opset: 13, Input: "x", Output: "y", Nodes: []Node{{Op: "Sub", Inputs: []string{"c", "x"}, Outputs: []string{"y"}}}}.constant("c", floatsOf(2)), Input: []int{3}, Naive: each(func(x float64) float64 { return 2 - x })},
	{Name: "Where", Layer: Graph{Opset: 13, Input: "x", Output: "y", Nodes: []Node{{Op: "Where", Inputs: []string{"c", "x", "d"}, Outputs: []string{"y"}}}}.constant("c", integersOf(1, 0, 1)).constant("d", floatsOf(7)), Input: []int{3}, Naive: picked(7, 0, -1, 2)},
	{Name: "ReduceMax", Layer: one("ReduceMax", attributes{"axes": list(-1, 1), "keepdims": whole(0)}), Input: []int{2, 1, 3}, Naive: func(_ layers.Network, x []float64) (y []float64) {
		return []float64{max(x[0], x[1], x[2], x[3], x[4], x[5])}[:1]
	}},
	{Name: "ReduceMin", Layer: one("ReduceMin", attributes{"axes": list(2, 3)}), Input: []int{2, 1, 3}, Naive: func(_ layers.Network, x []float64) []float64 {
		return []float64{slices.Min(x[:3]), slices.Min(x[3:])}
	}},
	{Name: "ReduceL2", Layer: one("ReduceL2", nil, integersOf(1)), Input: []int{3}, Naive: func(_ layers.Network, x []float64) []float64 {
		return []float64{math.Sqrt(x[0]*x[0] + x[1]*x[1] + x[2]*x[2])}
	}},
	{Name: "ReduceMean", Layer: one("ReduceMean", nil, integersOf(-1, 1)), Input: []int{2, 1, 2}, Naive: func(_ layers.Network, x []float64) []float64 {
		return []float64{(x[0] + x[1] + x[2] + x[3]) / 4}
	}},
	{Name: "Softmax of axis 1", Layer: one("Softmax", attributes{"axis": whole(1)}), Input: []int{2, 1, 2}, Naive: func(_ layers.Network, x []float64) []float64 {
		return []float64{sigmoid(x[0] - x[2]), sigmoid(x[1] - x[3]), sigmoid(x[2] - x[0]), sigmoid(x[3] - x[1])}
	}},
	{Name: "Softmax of opset 12", Layer: one("Softmax", nil).with(12), Input: []int{1, 2, 2}, Naive: func(_ layers.Network, x []float64) (y []float64) {
		sum := math.Exp(x[0]) + math.Exp(x[1]) + math.Exp(x[2]) + math.Exp(x[3])
		return each(func(v float64) float64 { return math.Exp(v) / sum })(nil, x)
	}},
	{Name: "Dropout", Layer: one("Dropout", attributes{"ratio": number(0.5)}), Input: []int{3}, Naive: picked(0, 0, 1, 2)},
	{Name: "Slice backwards", Layer: one("Slice", nil, integersOf(-1), integersOf(math.MinInt64), integersOf(1), integersOf(-2)), Input: []int{5}, Naive: picked(0, 4, 2, 0)},
	{Name: "Slice by steps", Layer: one("Slice", nil, integersOf(1), integersOf(math.MaxInt64), integersOf(-1), integersOf(2)), Input: []int{5}, Naive: picked(0, 1, 3)},
	{Name: "Split", Layer: chain(Node{Op: "Split", Inputs: []string{"x"}, Outputs: []string{"a", "b"}, Attributes: attributes{"axis": whole(1), "num_outputs": whole(2)}}, node("Neg", "a", "c"),
		Node{Op: "Concat", Inputs: []string{"b", "c"}, Outputs: []string{"y"}, Attributes: attributes{"axis": whole(-1)}}), Input: []int{4}, Naive: func(_ layers.Network, x []float64) []float64 { return []float64{x[2], x[3], -x[0], -x[1]} }},
	{Name: "Gather", Layer: one("Gather", attributes{"axis": whole(1)}, constantOf(raw.I64, []int{2, 2}, 0, -1, 1, 1)), Input: []int{3}, Naive: picked(0, 0, 2, 1, 1)},
	{Name: "Tile", Layer: one("Tile", nil, integersOf(1, 2)), Input: []int{2}, Naive: picked(0, 0, 1, 0, 1)},
	{Name: "Pad with a number", Layer: one("Pad", nil, integersOf(0, 1, 0, 2), floatsOf(7)), Input: []int{2}, Naive: picked(7, -1, 0, 1, -1, -1)},
	{Name: "Pad away", Layer: one("Pad", nil, integersOf(0, -1, 0, 1)), Input: []int{3}, Naive: picked(0, 1, 2, -1)},
	{Name: "Pad reflected", Layer: one("Pad", attributes{"mode": textOf("reflect")}, integersOf(2, 1), nil, integersOf(-1)), Input: []int{3}, Naive: picked(0, 2, 1, 0, 1, 2, 1)},
	{Name: "Pad by the edge", Layer: one("Pad", attributes{"mode": textOf("edge")}, integersOf(0, 2, 0, 1)), Input: []int{2}, Naive: picked(0, 0, 0, 0, 1, 1)},
	{Name: "Resize, nearest", Layer: one("Resize", attributes{"coordinate_transformation_mode": textOf("asymmetric"), "nearest_mode": textOf("floor")}, nil, floatsOf(1, 1, 2, 1)), Input: []int{1, 2, 2}, Naive: picked(0, 0, 1, 0, 1, 2, 3, 2, 3)},
	{Name: "Resize, linear", Layer: one("Resize", attributes{"mode": textOf("linear")}, nil, nil, integersOf(3, 1, 1, 4)), Input: []int{1, 1, 2}, Naive: func(_ layers.Network, x []float64) []float64 {
		return []float64{x[0], 0.75*x[0] + 0.25*x[1], 0.25*x[0] + 0.75*x[1], x[1]}
	}},
	{Name: "Resize with axes in another order", Layer: one("Resize", attributes{"axes": list(3, 2), "coordinate_transformation_mode": textOf("asymmetric"), "nearest_mode": textOf("floor")}, nil, floatsOf(1, 2)), Input: []int{1, 2, 2}, Naive: picked(0, 0, 1, 0, 1, 2, 3, 2, 3)},
	{Name: "DepthToSpace", Layer: one("DepthToSpace", attributes{"blocksize": whole(2)}), Input: []int{4, 1, 2}, Naive: picked(0, 0, 2, 1, 3, 4, 6, 5, 7)},
	{Name: "SpaceToDepth", Layer: one("SpaceToDepth", attributes{"blocksize": whole(2)}), Input: []int{1, 2, 4}, Naive: picked(0, 0, 2, 1, 3, 4, 6, 5, 7)},
	{Name: "MaxPool with padding", Layer: one("MaxPool", attributes{"kernel_shape": list(2, 2), "strides": list(2, 2), "pads": list(1, 1, 0, 0)}), Input: []int{1, 2, 3}, Naive: func(_ layers.Network, x []float64) []float64 {
		return []float64{x[0], max(x[1], x[2])}
	}},
	{Name: "MaxPool, rounded up", Layer: one("MaxPool", attributes{"kernel_shape": list(1, 2), "strides": list(1, 2), "ceil_mode": whole(1)}), Input: []int{1, 1, 3}, Naive: func(_ layers.Network, x []float64) []float64 {
		return []float64{max(x[0], x[1]), x[2]}
	}},
	{Name: "AveragePool with padding", Layer: one("AveragePool", attributes{"kernel_shape": list(1, 2), "pads": list(0, 1, 0, 1)}), Input: []int{1, 1, 2}, Naive: func(_ layers.Network, x []float64) []float64 {
		return []float64{x[0], (x[0] + x[1]) / 2, x[1]}
	}},
	{Name: "AveragePool that counts padding", Layer: one("AveragePool", attributes{"kernel_shape": list(1, 2), "pads": list(0, 1, 0, 1), "count_include_pad": whole(1)}), Input: []int{1, 1, 2}, Naive: func(_ layers.Network, x []float64) []float64 {
		return []float64{x[0] / 2, (x[0] + x[1]) / 2, x[1] / 2}
	}},
	{Name: "GlobalMaxPool", Layer: one("GlobalMaxPool", nil), Input: []int{2, 1, 3}, Naive: func(_ layers.Network, x []float64) []float64 { return []float64{slices.Max(x[:3]), slices.Max(x[3:])} }},
	{Name: "Conv, depthwise", Layer: one("Conv", attributes{"group": whole(2), "pads": list(0, 1, 0, 0)}, weights(2, 1, 1, 2), weights(2)), Input: []int{2, 1, 3}, Naive: naiveDepthwise},
	{Name: "Conv, padded at one side", Layer: one("Conv", attributes{"pads": list(0, 1, 0, 0)}, weights(1, 1, 1, 2)), Input: []int{1, 1, 2}, Naive: func(net layers.Network, x []float64) []float64 {
		w := weightsOf(net, 0)
		return []float64{w[1] * x[0], w[0]*x[0] + w[1]*x[1]}
	}},
	{Name: "Conv in one dimension", Layer: chain(Node{Op: "Reshape", Inputs: []string{"x", "s"}, Outputs: []string{"l"}}, Node{Op: "Conv", Inputs: []string{"l", "w"}, Outputs: []string{"y"}, Attributes: attributes{"dilations": list(2), "auto_pad": textOf("VALID")}}).constant("s", integersOf(0, 1, -1)).array("w", 1, 1, 2),
		Input: []int{4}, Naive: func(net layers.Network, x []float64) []float64 {
			w := weightsOf(net, 0)
			return []float64{w[0]*x[0] + w[1]*x[2], w[0]*x[1] + w[1]*x[3]}
		}},
	{Name: "Conv, same", Layer: one("Conv", attributes{"auto_pad": textOf("SAME_UPPER"), "strides": list(2, 2)}, weights(1, 1, 1, 3)), Input: []int{1, 1, 4}, Naive: func(net layers.Network, x []float64) []float64 {
		w := weightsOf(net, 0)
		return []float64{w[0]*x[0] + w[1]*x[1] + w[2]*x[2], w[0]*x[2] + w[1]*x[3]}
	}},
	{Name: "ConvTranspose", Layer: one("ConvTranspose", attributes{"strides": list(1, 2), "output_padding": list(0, 1)}, weights(1, 1, 1, 2), weights(1)), Input: []int{1, 1, 2}, Naive: func(net layers.Network, x []float64) []float64 {
		w, b := weightsOf(net, 0), weightsOf(net, 1)[0]
		return []float64{w[0]*x[0] + b, w[1]*x[0] + b, w[0]*x[1] + b, w[1]*x[1] + b, b}
	}},
	{Name: "LayerNormalization", Layer: one("LayerNormalization", attributes{"axis": whole(-1), "epsilon": number(0.1)}, weights(3), weights(3)), Input: []int{2, 1, 3}, Naive: normed(3, 0.1, func(i int) int { return i % 3 })},
	{Name: "InstanceNormalization", Layer: one("InstanceNormalization", nil, weights(2), weights(2)), Input: []int{2, 2, 2}, Naive: normed(4, epsilon, func(i int) int { return i / 4 })},
	{Name: "GroupNormalization of opset 18", Layer: one("GroupNormalization", attributes{"num_groups": whole(2)}, weights(2), weights(2)), Input: []int{4, 1, 2}, Naive: normed(4, epsilon, func(i int) int { return i / 4 })},
	{Name: "GroupNormalization of opset 21", Layer: one("GroupNormalization", attributes{"num_groups": whole(2)}, weights(4), weights(4)).with(21), Input: []int{4, 1, 2}, Naive: normed(4, epsilon, func(i int) int { return i / 2 })},
	{Name: "Gemm", Layer: one("Gemm", attributes{"alpha": number(2), "beta": number(3)}, weights(2, 2), weights(2)), Input: []int{2}, Naive: func(net layers.Network, x []float64) []float64 {
		w, b := weightsOf(net, 0), weightsOf(net, 1)
		return []float64{2*(w[0]*x[0]+w[2]*x[1]) + 3*b[0], 2*(w[1]*x[0]+w[3]*x[1]) + 3*b[1]}
	}},
	{Name: "MatMul of stacks", Layer: one("MatMul", nil, weights(2, 3)), Input: []int{2, 1, 2}, Naive: func(net layers.Network, x []float64) (y []float64) {
		w := weightsOf(net, 0)
		for r := range 2 {
			for k := range 3 {
				y = append(y, x[2*r]*w[k]+x[2*r+1]*w[3+k])
			}
		}
		return y
	}},
}

func naiveDepthwise(net layers.Network, x []float64) (y []float64) {
	w, b := weightsOf(net, 0), weightsOf(net, 1)
	for c := range 2 {
		for j := range 3 {
			v := b[c] + w[2*c+1]*x[3*c+j]
			if j > 0 {
				v += w[2*c] * x[3*c+j-1]
			}
			y = append(y, v)
		}
	}
	return y
}

func node(op, in, out string) Node { return Node{Op: op, Inputs: []string{in}, Outputs: []string{out}} }

// chain is a graph of several nodes from x to y.
func chain(nodes ...Node) Graph { return Graph{Opset: 18, Input: "x", Output: "y", Nodes: nodes} }

func (g Graph) constant(name string, t Tensor) Graph {
	t.Name = name
	g.Constants = append(slices.Clone(g.Constants), t)
	return g
}

func (g Graph) array(name string, shape ...int) Graph {
	g.Arrays = append(slices.Clone(g.Arrays), Array{Name: name, Shape: shape})
	return g
}

func TestOperators(t *testing.T) { layertest.Conform(t, cases) }

// recurrentGraph is a layer on sequences [S,I] as PyTorch exports it with batch_first: its last
// state. The directions are joined.
func recurrentGraph(op string, gates, steps, inputs, hidden, directions int, direction string) Graph {
	a := attributes{"hidden_size": whole(int64(hidden)), "direction": textOf(direction)}
	if op == "GRU" {
		a["linear_before_reset"] = whole(1)
	}
	return chain(
		Node{Op: "Reshape", Inputs: []string{"x", "s"}, Outputs: []string{"l"}},
		Node{Op: "Transpose", Inputs: []string{"l"}, Outputs: []string{"t"}, Attributes: attributes{"perm": list(1, 0, 2)}},
		Node{Op: op, Inputs: []string{"t", "w", "r", "b"}, Outputs: []string{"o", "h"}, Attributes: a},
		Node{Op: "Transpose", Inputs: []string{"o"}, Outputs: []string{"p"}, Attributes: attributes{"perm": list(0, 2, 1, 3)}},
		Node{Op: "Reshape", Inputs: []string{"p", "m"}, Outputs: []string{"q"}},
		Node{Op: "Transpose", Inputs: []string{"q"}, Outputs: []string{"y"}, Attributes: attributes{"perm": list(1, 0, 2)}},
	).constant("s", integersOf(0, int64(steps), int64(inputs))).constant("m", integersOf(0, 0, -1)).
		array("w", directions, gates*hidden, inputs).array("r", directions, gates*hidden, hidden).array("b", directions, 2*gates*hidden)
}

// naiveRecurrent runs directions step by step; next is given the gates of the input and of the
// state, with their biases.
func naiveRecurrent(gates, steps, inputs, hidden int, reverse []bool, next func(in, own, h, memory []float64)) naive {
	return func(net layers.Network, x []float64) []float64 {
		w, r, b := weightsOf(net, 0), weightsOf(net, 1), weightsOf(net, 2)
		rows, n := gates*hidden, len(reverse)
		y := make([]float64, steps*n*hidden)
		for d, backwards := range reverse {
			h, memory := make([]float64, hidden), make([]float64, hidden)
			for k := range steps {
				at := k
				if backwards {
					at = steps - 1 - k
				}
				in, own := make([]float64, rows), make([]float64, rows)
				for g := range rows {
					in[g], own[g] = b[d*2*rows+g], b[d*2*rows+rows+g]
					for i := range inputs {
						in[g] += w[(d*rows+g)*inputs+i] * x[at*inputs+i]
					}
					for i := range hidden {
						own[g] += r[(d*rows+g)*hidden+i] * h[i]
					}
				}
				next(in, own, h, memory)
				copy(y[(at*n+d)*hidden:], h)
			}
		}
		return y
	}
}

func TestRecurrent(t *testing.T) {
	lstm := func(in, own, h, memory []float64) {
		n := len(h)
		for i := range h {
			gate := func(k int) float64 { return in[k*n+i] + own[k*n+i] }
			memory[i] = sigmoid(gate(2))*memory[i] + sigmoid(gate(0))*math.Tanh(gate(3))
			h[i] = sigmoid(gate(1)) * math.Tanh(memory[i])
		}
	}
	gru := func(in, own, h, _ []float64) {
		n := len(h)
		for i := range h {
			z, r := sigmoid(in[i]+own[i]), sigmoid(in[n+i]+own[n+i])
			h[i] = (1-z)*math.Tanh(in[2*n+i]+r*own[2*n+i]) + z*h[i]
		}
	}
	rnn := func(in, own, h, _ []float64) {
		for i := range h {
			h[i] = math.Tanh(in[i] + own[i])
		}
	}
	layertest.Conform(t, []layertest.Case{
		{Name: "LSTM", Layer: recurrentGraph("LSTM", 4, 3, 2, 2, 1, "forward"), Input: []int{6}, Naive: naiveRecurrent(4, 3, 2, 2, []bool{false}, lstm)},
		{Name: "LSTM in both directions", Layer: recurrentGraph("LSTM", 4, 3, 1, 2, 2, "bidirectional"), Input: []int{3}, Naive: naiveRecurrent(4, 3, 1, 2, []bool{false, true}, lstm)},
		{Name: "GRU", Layer: recurrentGraph("GRU", 3, 3, 2, 2, 1, "forward"), Input: []int{6}, Naive: naiveRecurrent(3, 3, 2, 2, []bool{false}, gru)},
		{Name: "RNN backwards", Layer: recurrentGraph("RNN", 1, 3, 2, 3, 1, "reverse"), Input: []int{6}, Naive: naiveRecurrent(1, 3, 2, 3, []bool{true}, rnn)},
	})
}

// TestRowWise makes sure that networks whose exporters move the examples to another axis, and
// back, have every operation act on rows.
func TestRowWise(t *testing.T) {
	for _, g := range []Graph{recurrentGraph("GRU", 3, 3, 2, 2, 1, "forward"), recurrentGraph("LSTM", 4, 3, 2, 2, 2, "bidirectional")} {
		for _, batch := range []int{1, 3} {
			b := graph.NewBuilder(tensor.Float64)
			x := b.Input("x", batch, 6)
			var arrays []*graph.Node
			y, err := g.run(b, x, func(a Array) *graph.Node {
				arrays = append(arrays, b.Input(a.Name, a.Shape...))
				return arrays[len(arrays)-1]
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			order := graph.Ancestors(y)
			batched := graph.Dependents(order, []*graph.Node{x})
			for _, n := range order {
				in, marks := graph.Children(n), []bool{}
				for _, a := range in {
					marks = append(marks, batched[a])
				}
				if len(in) > 0 && batched[n] && !graph.RowWise(n.Op(), marks, in) {
					t.Errorf("%s, %d examples: %v does not act on rows", g.Nodes[2].Op, batch, n.Op())
				}
			}
		}
	}
}
