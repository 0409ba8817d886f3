package onnx

import (
	"math"
	"slices"
	"testing"

	"github.com/go-valla/valla/internal/raw"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/layertest"
)

// nodeOf is a node of several inputs.
func nodeOf(op string, a attributes, output string, inputs ...string) Node {
	return Node{Op: op, Inputs: inputs, Outputs: []string{output}, Attributes: a}
}

// inside is a function that needs arguments between −1 and 1, of tanh x.
func inside(op string) Graph { return chain(node("Tanh", "x", "t"), node(op, "t", "y")) }

var moreCases = []layertest.Case{
	{Name: "Tan", Layer: inside("Tan"), Input: []int{5}, Naive: each(func(x float64) float64 { return math.Tan(math.Tanh(x)) })},
	{Name: "Asin", Layer: inside("Asin"), Input: []int{5}, Naive: each(func(x float64) float64 { return math.Asin(math.Tanh(x)) })},
	{Name: "Acos", Layer: inside("Acos"), Input: []int{5}, Naive: each(func(x float64) float64 { return math.Acos(math.Tanh(x)) })},
	{Name: "Atan", Layer: one("Atan", nil), Input: []int{5}, Naive: each(math.Atan)},
	{Name: "Sinh", Layer: one("Sinh", nil), Input: []int{5}, Naive: each(math.Sinh)},
	{Name: "Cosh", Layer: one("Cosh", nil), Input: []int{5}, Naive: each(math.Cosh)},
	{Name: "Asinh", Layer: one("Asinh", nil), Input: []int{5}, Naive: each(math.Asinh)},
	{Name: "Acosh", Layer: chain(node("Exp", "x", "e"), nodeOf("Add", nil, "f", "e", "c"), node("Acosh", "f", "y")).constant("c", floatsOf(1.5)), Input: []int{5}, Naive: each(func(x float64) float64 { return math.Acosh(math.Exp(x) + 1.5) })},
	{Name: "Atanh", Layer: chain(node("Tanh", "x", "t"), nodeOf("Mul", nil, "h", "t", "c"), node("Atanh", "h", "y")).constant("c", floatsOf(0.5)), Input: []int{5}, Naive: each(func(x float64) float64 { return math.Atanh(math.Tanh(x) / 2) })},
	{Name: "ThresholdedRelu", Layer: one("ThresholdedRelu", attributes{"alpha": number(0.2)}), Input: []int{5}, Naive: each(func(x float64) float64 {
		if x > 0.2 {
			return x
		}
		return 0
	})},
	{Name: "Shrink", Layer: one("Shrink", attributes{"lambd": number(0.3), "bias": number(0.1)}), Input: []int{5}, Naive: each(func(x float64) float64 {
		switch {
		case x > 0.3:
			return x - 0.1
		case x < -0.3:
			return x + 0.1
		}
		return 0
	})},
	{Name: "Swish", Layer: one("Swish", attributes{"alpha": number(2)}).with(24), Input: []int{5}, Naive: each(func(x float64) float64 { return x * sigmoid(2*x) })},
	{Name: "Mean", Layer: one("Mean", nil, weights(3), floatsOf(3, 0, 3)), Input: []int{3}, Naive: func(net layers.Network, x []float64) []float64 {
		w := weightsOf(net, 0)
		return []float64{(x[0] + w[0] + 3) / 3, (x[1] + w[1]) / 3, (x[2] + w[2] + 3) / 3}
	}},
	{Name: "ReduceL1", Layer: one("ReduceL1", nil, integersOf(1)), Input: []int{3}, Naive: func(_ layers.Network, x []float64) []float64 {
		return []float64{math.Abs(x[0]) + math.Abs(x[1]) + math.Abs(x[2])}
	}},
	{Name: "ReduceLogSum", Layer: chain(node("Exp", "x", "e"), nodeOf("ReduceLogSum", nil, "y", "e", "a")).constant("a", integersOf(1)), Input: []int{2}, Naive: func(_ layers.Network, x []float64) []float64 {
		return []float64{math.Log(math.Exp(x[0]) + math.Exp(x[1]))}
	}},
	{Name: "ReduceLogSumExp", Layer: one("ReduceLogSumExp", nil, integersOf(2)), Input: []int{2, 2, 1}, Naive: func(_ layers.Network, x []float64) []float64 {
		return []float64{math.Log(math.Exp(x[0]) + math.Exp(x[1])), math.Log(math.Exp(x[2]) + math.Exp(x[3]))}
	}},
	{Name: "RMSNormalization", Layer: one("RMSNormalization", attributes{"epsilon": number(0.1)}, weights(3)).with(23), Input: []int{3}, Naive: func(net layers.Network, x []float64) []float64 {
		w, root := weightsOf(net, 0), math.Sqrt((x[0]*x[0]+x[1]*x[1]+x[2]*x[2])/3+0.1)
		return []float64{x[0] / root * w[0], x[1] / root * w[1], x[2] / root * w[2]}
	}},
	{Name: "LpNormalization", Layer: one("LpNormalization", nil), Input: []int{2}, Naive: func(_ layers.Network, x []float64) []float64 {
		n := math.Hypot(x[0], x[1])
		return []float64{x[0] / n, x[1] / n}
	}},
	{Name: "LpNormalization of order 1", Layer: one("LpNormalization", attributes{"p": whole(1)}), Input: []int{2}, Naive: func(_ layers.Network, x []float64) []float64 {
		n := math.Abs(x[0]) + math.Abs(x[1])
		return []float64{x[0] / n, x[1] / n}
	}},
	{Name: "MeanVarianceNormalization", Layer: one("MeanVarianceNormalization", attributes{"axes": list(2, 3)}), Input: []int{2, 1, 3}, Naive: func(_ layers.Network, x []float64) (y []float64) {
		for part := range slices.Chunk(x, 3) {
			mean := (part[0] + part[1] + part[2]) / 3
			square := 0.0
			for _, v := range part {
				square += (v - mean) * (v - mean) / 3
			}
			for _, v := range part {
				y = append(y, (v-mean)/(math.Sqrt(square)+1e-9))
			}
		}
		return y
	}},
	{Name: "LRN", Layer: one("LRN", attributes{"size": whole(2), "alpha": number(0.4), "beta": number(0.5), "bias": number(1)}), Input: []int{3, 1, 1}, Naive: func(_ layers.Network, x []float64) []float64 {
		s := func(v ...float64) float64 {
			sum := 0.0
			for _, a := range v {
				sum += a * a
			}
			return math.Sqrt(1 + 0.2*sum)
		}
		return []float64{x[0] / s(x[0], x[1]), x[1] / s(x[1], x[2]), x[2] / s(x[2])}
	}},
	{Name: "OneHot", Layer: chain(nodeOf("Cast", attributes{"to": whole(7)}, "i", "x"), nodeOf("OneHot", attributes{"axis": whole(1)}, "o", "i", "n", "v"), nodeOf("Mul", nil, "y", "o", "w")).constant("n", integersOf(3)).constant("v", floatsOf(-1, 2)).array("w", 3, 2),
		Input: []int{2}, Naive: func(net layers.Network, x []float64) (y []float64) {
			w := weightsOf(net, 0)
			for k := range 3 {
				for i, v := range x {
					at := int(math.Trunc(v))
					y = append(y, w[2*k+i]*(-1+3*truth(at == k || at == k-3)))
				}
			}
			return y
		}},
	{Name: "CumSum", Layer: one("CumSum", nil, integersOf(1)), Input: []int{3}, Naive: func(_ layers.Network, x []float64) []float64 {
		return []float64{x[0], x[0] + x[1], x[0] + x[1] + x[2]}
	}},
	{Name: "CumSum from the end, exclusive", Layer: one("CumSum", attributes{"exclusive": whole(1), "reverse": whole(1)}, integersOf(-2)), Input: []int{3, 1, 1}, Naive: func(_ layers.Network, x []float64) []float64 {
		return []float64{0, 0, 0}
	}},
	{Name: "GatherElements", Layer: chain(nodeOf("Shape", attributes{"end": whole(1)}, "b", "x"), nodeOf("Concat", nil, "s", "b", "two"), nodeOf("Expand", nil, "i", "c", "s"), nodeOf("GatherElements", attributes{"axis": whole(1)}, "y", "x", "i")).constant("c", constantOf(raw.I64, []int{1, 2}, 2, -3)).constant("two", integersOf(2)),
		Input: []int{3}, Naive: picked(0, 2, 0)},
	{Name: "GatherElements at places of the example", Layer: chain(nodeOf("ArgMax", attributes{"axis": whole(1)}, "i", "x"), nodeOf("GatherElements", attributes{"axis": whole(1)}, "y", "x", "i")),
		Input: []int{3}, Naive: func(_ layers.Network, x []float64) []float64 { return []float64{slices.Max(x)} }},
	{Name: "GatherND at a place of the example", Layer: chain(nodeOf("ArgMin", attributes{"axis": whole(1)}, "i", "x"), nodeOf("GatherND", attributes{"batch_dims": whole(1)}, "y", "x", "i")),
		Input: []int{3}, Naive: func(_ layers.Network, x []float64) []float64 { return []float64{slices.Min(x)} }},
	{Name: "ScatterElements", Layer: chain(nodeOf("Reshape", nil, "r", "x", "s"), nodeOf("ScatterElements", attributes{"axis": whole(1)}, "z", "w", "i", "u"), nodeOf("Mul", nil, "y", "r", "z")).constant("s", integersOf(0, 3)).constant("i", constantOf(raw.I64, []int{1, 2}, 2, 0)).array("w", 1, 3).array("u", 1, 2),
		Input: []int{3}, Naive: func(net layers.Network, x []float64) []float64 {
			w, u := weightsOf(net, 0), weightsOf(net, 1)
			return []float64{x[0] * u[1], x[1] * w[1], x[2] * u[0]}
		}},
	{Name: "ScatterND in a table", Layer: chain(nodeOf("ScatterND", nil, "z", "w", "i", "u"), nodeOf("MatMul", nil, "y", "x", "z")).constant("i", constantOf(raw.I64, []int{1, 1}, 1)).array("w", 2, 2).array("u", 1, 2),
		Input: []int{2}, Naive: func(net layers.Network, x []float64) []float64 {
			w, u := weightsOf(net, 0), weightsOf(net, 1)
			return []float64{x[0]*w[0] + x[1]*u[0], x[0]*w[1] + x[1]*u[1]}
		}},
	{Name: "TopK", Layer: one("TopK", nil, integersOf(2)), Input: []int{4}, Naive: func(_ layers.Network, x []float64) []float64 {
		slices.Sort(x)
		return []float64{x[3], x[2]}
	}},
	{Name: "TopK of the smallest along axis 1", Layer: one("TopK", attributes{"largest": whole(0), "axis": whole(1)}, integersOf(1)), Input: []int{2, 1, 2}, Naive: func(_ layers.Network, x []float64) []float64 {
		return []float64{min(x[0], x[2]), min(x[1], x[3])}
	}},
	{Name: "Hardmax", Layer: chain(node("Hardmax", "x", "h"), nodeOf("Mul", nil, "y", "h", "w")).array("w", 3), Input: []int{3}, Naive: func(net layers.Network, x []float64) []float64 {
		w, most := weightsOf(net, 0), slices.Max(x)
		return []float64{w[0] * truth(x[0] == most), w[1] * truth(x[1] == most), w[2] * truth(x[2] == most)}
	}},
	{Name: "Hardmax of opset 12", Layer: chain(node("Hardmax", "x", "h"), nodeOf("Mul", nil, "y", "h", "x")).with(12), Input: []int{1, 2, 2}, Naive: func(_ layers.Network, x []float64) []float64 {
		most := slices.Max(x)
		return each(func(v float64) float64 { return v * truth(v == most) })(nil, x)
	}},
	{Name: "Sign, Ceil, Floor and Round", Layer: chain(node("Sign", "x", "a"), nodeOf("Mul", nil, "b", "x", "c"), node("Floor", "b", "d"), node("Ceil", "b", "e"), node("Round", "b", "f"), nodeOf("Sum", nil, "g", "a", "d", "e", "f"), nodeOf("Mul", nil, "y", "g", "w")).constant("c", floatsOf(3)).array("w", 3),
		Input: []int{3}, Naive: func(net layers.Network, x []float64) []float64 {
			for i, v := range x {
				x[i] = (sign(v) + math.Floor(3*v) + math.Ceil(3*v) + math.RoundToEven(3*v)) * weightsOf(net, 0)[i]
			}
			return x
		}},
	{Name: "a mask of the example", Layer: chain(nodeOf("Greater", nil, "a", "x", "l"), nodeOf("LessOrEqual", nil, "b", "x", "h"), nodeOf("And", nil, "c", "a", "b"), node("Not", "c", "d"), nodeOf("Xor", nil, "e", "d", "a"), nodeOf("Or", nil, "f", "e", "c"), nodeOf("Where", nil, "y", "f", "w", "x")).constant("l", floatsOf(-0.2)).constant("h", floatsOf(0.4)).array("w", 5),
		Input: []int{5}, Naive: func(net layers.Network, x []float64) []float64 {
			for i, v := range x {
				a := v > -0.2
				c := a && v <= 0.4
				if (!c != a) || c {
					x[i] = weightsOf(net, 0)[i]
				}
			}
			return x
		}},
	{Name: "Equal, Less, GreaterOrEqual and Mod", Layer: chain(nodeOf("Cast", attributes{"to": whole(7)}, "i", "x"), nodeOf("Equal", nil, "a", "i", "z"), nodeOf("Less", nil, "b", "x", "w"), nodeOf("GreaterOrEqual", nil, "c", "x", "w"), nodeOf("Mod", nil, "d", "x", "l"), nodeOf("Add", nil, "e", "b", "a"), nodeOf("Mul", nil, "f", "e", "x"), nodeOf("Add", nil, "g", "f", "c"), nodeOf("Mul", nil, "y", "g", "d")).constant("z", integersOf(0)).constant("l", floatsOf(3)).array("w", 4),
		Input: []int{4}, Naive: func(net layers.Network, x []float64) []float64 {
			for i, v := range x {
				w := weightsOf(net, 0)[i]
				x[i] = ((truth(v < w)+truth(math.Trunc(v) == 0))*v + truth(v >= w)) * (v - 3*math.Floor(v/3))
			}
			return x
		}},
	{Name: "no number is NaN", Layer: chain(node("IsNaN", "x", "n"), nodeOf("Where", nil, "y", "n", "w", "x")).array("w", 3), Input: []int{3}, Naive: picked(0, 0, 1, 2)},
}

func TestMoreOperators(t *testing.T) { layertest.Conform(t, moreCases) }

// equation is an Einsum of x, an array and perhaps another.
func equation(text string, shapes ...[]int) Graph {
	a := attributes{"equation": textOf(text)}
	var inputs []any
	for _, s := range shapes {
		inputs = append(inputs, weights(s...))
	}
	return one("Einsum", a, inputs...)
}

func TestEinsum(t *testing.T) {
	layertest.Conform(t, []layertest.Case{
		{Name: "a dense layer", Layer: equation("bi,oi->bo", []int{2, 3}), Input: []int{3}, Naive: func(net layers.Network, x []float64) []float64 {
			w := weightsOf(net, 0)
			return []float64{w[0]*x[0] + w[1]*x[1] + w[2]*x[2], w[3]*x[0] + w[4]*x[1] + w[5]*x[2]}
		}},
		{Name: "three operands, implicit", Layer: equation("bi,ij,j", []int{2, 2}, []int{2}), Input: []int{2}, Naive: func(net layers.Network, x []float64) []float64 {
			w, v := weightsOf(net, 0), weightsOf(net, 1)
			return []float64{x[0]*(w[0]*v[0]+w[1]*v[1]) + x[1]*(w[2]*v[0]+w[3]*v[1])}
		}},
		{Name: "weights of each head", Layer: equation("bhxd,hde->bexh", []int{2, 2, 1}), Input: []int{2, 1, 2}, Naive: func(net layers.Network, x []float64) []float64 {
			w := weightsOf(net, 0)
			return []float64{x[0]*w[0] + x[1]*w[1], x[2]*w[2] + x[3]*w[3]}
		}},
		{Name: "an ellipsis", Layer: equation("...d,de->...e", []int{2, 1}), Input: []int{2, 1, 2}, Naive: func(net layers.Network, x []float64) []float64 {
			w := weightsOf(net, 0)
			return []float64{x[0]*w[0] + x[1]*w[1], x[2]*w[0] + x[3]*w[1]}
		}},
		{Name: "sums and an order", Layer: equation("bchw->bwc"), Input: []int{2, 2, 1}, Naive: func(_ layers.Network, x []float64) []float64 {
			return []float64{x[0] + x[1], x[2] + x[3]}
		}},
		{Name: "an axis of one", Layer: equation("bchw,chw->bcw", []int{2, 2, 1}), Input: []int{1, 2, 2}, Naive: func(net layers.Network, x []float64) []float64 {
			w := weightsOf(net, 0)
			return []float64{x[0]*w[0] + x[2]*w[1], x[1]*w[0] + x[3]*w[1], x[0]*w[2] + x[2]*w[3], x[1]*w[2] + x[3]*w[3]}
		}},
	})
}

// attentionOf is attention of x [2,4] to itself in two heads of the size 2.
func attentionOf(a attributes, more ...string) Graph {
	g := chain(nodeOf("Reshape", nil, "r", "x", "s"), nodeOf("MatMul", nil, "k", "r", "w"), Node{Op: "Attention", Inputs: append([]string{"r", "k", "r"}, more...), Outputs: []string{"y"}, Attributes: a})
	return g.with(23).constant("s", integersOf(0, 2, 4)).array("w", 4, 4)
}

// naiveAttention computes attentionOf; score changes the scaled score s of place i for place j.
func naiveAttention(net layers.Network, x []float64, scale float64, score func(s float64, i, j int) float64) []float64 {
	w := weightsOf(net, 0)
	y := make([]float64, 8)
	for h := range 2 {
		for i := range 2 {
			var e [2]float64
			for j := range 2 {
				s := 0.0
				for d := range 2 {
					key := 0.0
					for k := range 4 {
						key += x[4*j+k] * w[4*k+2*h+d]
					}
					s += x[4*i+2*h+d] * key
				}
				e[j] = math.Exp(score(scale*s, i, j))
			}
			for d := range 2 {
				y[4*i+2*h+d] = (e[0]*x[2*h+d] + e[1]*x[4+2*h+d]) / (e[0] + e[1])
			}
		}
	}
	return y
}

func TestAttention(t *testing.T) {
	two := attributes{"q_num_heads": whole(2), "kv_num_heads": whole(2)}
	hidden := func(s float64, hide bool) float64 {
		if hide {
			return math.Inf(-1)
		}
		return s
	}
	layertest.Conform(t, []layertest.Case{
		{Name: "plain", Layer: attentionOf(two), Input: []int{8}, Naive: func(net layers.Network, x []float64) []float64 {
			return naiveAttention(net, x, math.Sqrt(0.5), func(s float64, _, _ int) float64 { return s })
		}},
		{Name: "causal, with a scale and a cap", Layer: attentionOf(attributes{"q_num_heads": whole(2), "kv_num_heads": whole(2), "is_causal": whole(1), "scale": number(0.3), "softcap": number(2)}), Input: []int{8}, Naive: func(net layers.Network, x []float64) []float64 {
			return naiveAttention(net, x, 0.3, func(s float64, i, j int) float64 { return hidden(2*math.Tanh(s/2), j > i) })
		}},
		{Name: "with a mask of the example", Layer: maskedAttention(two), Input: []int{8}, Naive: func(net layers.Network, x []float64) []float64 {
			hide := x[7] < 0
			return naiveAttention(net, x, math.Sqrt(0.5), func(s float64, _, j int) float64 { return hidden(s, hide && j == 0) })
		}},
	})
	layertest.Conform(t, []layertest.Case{
		{Name: "RotaryEmbedding", Layer: one("RotaryEmbedding", nil, weights(1, 1, 2), weights(1, 1, 2)).with(23), Input: []int{1, 1, 4}, Naive: func(net layers.Network, x []float64) []float64 {
			c, s := weightsOf(net, 0), weightsOf(net, 1)
			return []float64{x[0]*c[0] - x[2]*s[0], x[1]*c[1] - x[3]*s[1], x[0]*s[0] + x[2]*c[0], x[1]*s[1] + x[3]*c[1]}
		}},
		{Name: "RotaryEmbedding of pairs", Layer: one("RotaryEmbedding", attributes{"interleaved": whole(1), "rotary_embedding_dim": whole(2)}, weights(1, 1, 1), weights(1, 1, 1)).with(23), Input: []int{1, 1, 3}, Naive: func(net layers.Network, x []float64) []float64 {
			c, s := weightsOf(net, 0)[0], weightsOf(net, 1)[0]
			return []float64{x[0]*c - x[1]*s, x[0]*s + x[1]*c, x[2]}
		}},
	})
}

// maskedAttention hides the first place where the last number of an example is below 0.
func maskedAttention(a attributes) Graph {
	g := attentionOf(a, "m")
	mask := []Node{
		nodeOf("Slice", nil, "last", "x", "seven", "eight", "seven1"), nodeOf("GreaterOrEqual", nil, "p", "last", "zero"),
		nodeOf("Or", nil, "q", "p", "places"), nodeOf("Reshape", nil, "m", "q", "ms"),
	}
	g.Nodes = slices.Insert(g.Nodes, 0, mask...)
	return g.constant("seven", integersOf(7)).constant("eight", integersOf(8)).constant("seven1", integersOf(1)).constant("zero", floatsOf(0)).
		constant("places", constantOf(raw.I64, []int{1, 2}, 0, 1)).constant("ms", integersOf(0, 1, 1, 2))
}
