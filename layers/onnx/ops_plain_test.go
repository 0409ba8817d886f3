package onnx

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/layertest"
)

// positive is a function of eˣ, which is above 0.
func positive(op string) Graph { return chain(node("Exp", "x", "e"), node(op, "e", "y")) }

// shaped is a function whose result has the elements of x in their order.
func shaped(_ layers.Network, x []float64) []float64 { return x }

// plainCases are rows of functions of one number, of sums, and of operators that change the shape alone.
var plainCases = []layertest.Case{
	{Name: "Relu", Layer: one("Relu", nil), Input: []int{5}, Naive: each(func(x float64) float64 { return max(x, 0) })},
	{Name: "Sigmoid", Layer: one("Sigmoid", nil), Input: []int{5}, Naive: each(sigmoid)},
	{Name: "Softplus", Layer: one("Softplus", nil), Input: []int{5}, Naive: each(func(x float64) float64 { return math.Log1p(math.Exp(x)) })},
	{Name: "Erf", Layer: one("Erf", nil), Input: []int{5}, Naive: each(math.Erf)},
	{Name: "Sin", Layer: one("Sin", nil), Input: []int{5}, Naive: each(math.Sin)},
	{Name: "Cos", Layer: one("Cos", nil), Input: []int{5}, Naive: each(math.Cos)},
	{Name: "Log", Layer: positive("Log"), Input: []int{5}, Naive: each(func(x float64) float64 { return x })},
	{Name: "Sqrt", Layer: positive("Sqrt"), Input: []int{5}, Naive: each(func(x float64) float64 { return math.Exp(x / 2) })},
	{Name: "Identity", Layer: one("Identity", nil), Input: []int{5}, Naive: shaped},
	{Name: "CastLike", Layer: one("CastLike", nil, floatsOf(1)), Input: []int{5}, Naive: shaped},
	{Name: "Div", Layer: chain(node("Exp", "x", "e"), nodeOf("Div", nil, "y", "x", "e")), Input: []int{5}, Naive: each(func(x float64) float64 { return x / math.Exp(x) })},
	{Name: "LogSoftmax", Layer: one("LogSoftmax", nil), Input: []int{2}, Naive: func(_ layers.Network, x []float64) []float64 {
		z := math.Log(math.Exp(x[0]) + math.Exp(x[1]))
		return []float64{x[0] - z, x[1] - z}
	}},
	{Name: "ReduceSum", Layer: one("ReduceSum", nil, integersOf(1)), Input: []int{2, 2}, Naive: func(_ layers.Network, x []float64) []float64 {
		return []float64{x[0] + x[2], x[1] + x[3]}
	}},
	{Name: "ReduceSumSquare", Layer: one("ReduceSumSquare", nil, integersOf(2)), Input: []int{2, 2}, Naive: func(_ layers.Network, x []float64) []float64 {
		return []float64{x[0]*x[0] + x[1]*x[1], x[2]*x[2] + x[3]*x[3]}
	}},
	{Name: "GlobalAveragePool", Layer: one("GlobalAveragePool", nil), Input: []int{2, 1, 2}, Naive: func(_ layers.Network, x []float64) []float64 {
		return []float64{(x[0] + x[1]) / 2, (x[2] + x[3]) / 2}
	}},
	{Name: "Flatten", Layer: one("Flatten", nil), Input: []int{2, 3}, Naive: shaped},
	{Name: "Squeeze", Layer: one("Squeeze", nil, integersOf(2)), Input: []int{3, 1}, Naive: shaped},
	{Name: "Unsqueeze", Layer: one("Unsqueeze", nil, integersOf(1)), Input: []int{3}, Naive: shaped},
	{Name: "Transpose", Layer: one("Transpose", attributes{"perm": list(0, 2, 1)}), Input: []int{2, 3}, Naive: picked(0, 0, 3, 1, 4, 2, 5)},
	{Name: "Trilu", Layer: one("Trilu", attributes{"upper": whole(0)}), Input: []int{2, 2}, Naive: picked(0, 0, -1, 2, 3)},
	{Name: "BatchNormalization", Layer: one("BatchNormalization", attributes{"epsilon": number(0.5)}, weights(2), weights(2), floatsOf(0.1, -0.2), floatsOf(0.5, 3.5)), Input: []int{2},
		Naive: func(net layers.Network, x []float64) []float64 {
			gamma, beta := weightsOf(net, 0), weightsOf(net, 1)
			return []float64{(x[0]-0.1)*gamma[0] + beta[0], (x[1]+0.2)/2*gamma[1] + beta[1]}
		}},
}

// TestPlainOperators runs the conformance suite.
func TestPlainOperators(t *testing.T) { layertest.Conform(t, plainCases) }

// TestEveryOperatorConforms: each operator with derivatives has a row of the conformance suite: values, first and second
// derivatives, and rows.
func TestEveryOperatorConforms(t *testing.T) {
	conforms := map[string]bool{}
	for _, c := range slices.Concat(cases, moreCases, plainCases) {
		for _, n := range c.Layer.(Graph).Nodes {
			conforms[n.Op] = true
		}
	}
	for op := range strings.FieldsSeq("RNN LSTM GRU Einsum Attention RotaryEmbedding") { // have tests of their own, which run the suite
		conforms[op] = true
	}
	for _, o := range Supported() {
		if !slices.Contains(registered, o.Name) && o.Support == Whole && !conforms[o.Name] {
			t.Errorf("the operator %s has no row", o.Name)
		}
	}
}
