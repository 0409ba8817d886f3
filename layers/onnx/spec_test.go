package onnx

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/raw"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/layertest"
	"gorgonia.org/tensor"
)

// TestVectorTimesMatrix: a product of a vector and matrices has the columns of the matrices.
func TestVectorTimesMatrix(t *testing.T) {
	with := func(w []float64, x []float64) []float64 {
		return []float64{w[0]*x[0] + w[1]*x[3], w[0]*x[1] + w[1]*x[4], w[0]*x[2] + w[1]*x[5]}
	}
	layertest.Conform(t, []layertest.Case{
		{Name: "stacked", Layer: chain(nodeOf("MatMul", nil, "y", "w", "x")).array("w", 2), Input: []int{2, 3}, Naive: func(net layers.Network, x []float64) []float64 {
			return with(weightsOf(net, 0), x)
		}},
		{Name: "one matrix", Layer: chain(nodeOf("MatMul", nil, "v", "w", "m"), nodeOf("Add", nil, "y", "x", "v")).array("w", 2).array("m", 2, 3), Input: []int{3}, Naive: func(net layers.Network, x []float64) []float64 {
			for i, v := range with(weightsOf(net, 0), weightsOf(net, 1)) {
				x[i] += v
			}
			return x
		}},
	})
}

// joinedTo is a graph in which nodes make c of constants, which is added to x.
func joinedTo(nodes ...Node) Graph { return chain(append(nodes, nodeOf("Add", nil, "y", "x", "c"))...) }

// TestNumbersStayNumbers: a number that an operator has made of constants divides with a rest, an integer without one.
func TestNumbersStayNumbers(t *testing.T) {
	by := func(more ...Node) Graph { return chain(append(more, nodeOf("Div", nil, "y", "x", "c"))...) }
	oneHot := nodeOf("OneHot", nil, "c", "i", "3", "v")
	mod := nodeOf("Mod", attributes{"fmod": whole(1)}, "c", "a", "b")
	checkExact(t, []exact{
		{"Mod", by(mod).constant("a", floatsOf(-6)).constant("b", floatsOf(4)), []int{1}, []float64{3}, []float64{-1.5}, nil},
		{"Mod of integers", by(mod).constant("a", integersOf(-6)).constant("b", integersOf(4)), []int{1}, []float64{3}, []float64{-1}, nil},
		{"OneHot", by(oneHot).constant("i", integersOf(1)).constant("3", integersOf(3)).constant("v", floatsOf(2, 4)), []int{3}, []float64{3, 3, 3}, []float64{1.5, 0.75, 1.5}, nil},
		{"OneHot of integers", by(oneHot).constant("i", integersOf(1)).constant("3", integersOf(3)).constant("v", integersOf(2, 4)), []int{3}, []float64{3, 3, 3}, []float64{1, 0, 1}, nil},
		{"Pow of an integer", joinedTo(nodeOf("Pow", nil, "c", "2", "h")).constant("2", integersOf(2)).constant("h", floatsOf(0.5)), []int{1}, []float64{0}, []float64{1}, nil},
	})
}

// TestOneHotOfInfinity: values that are not selected leave the others as they are.
func TestOneHotOfInfinity(t *testing.T) {
	least := func(nodes ...Node) Graph {
		return chain(append(nodes, nodeOf("Max", nil, "y", "h", "z"))...).constant("3", integersOf(3)).constant("v", floatsOf(math.Inf(-1), 2)).constant("z", floatsOf(0))
	}
	checkExact(t, []exact{
		{"places of constants", least(nodeOf("OneHot", nil, "o", "i", "3", "v"), nodeOf("Add", nil, "h", "x", "o")).constant("i", integersOf(1)), []int{3}, []float64{1, 1, 1}, []float64{0, 3, 0}, nil},
		{"places of examples", least(nodeOf("ArgMax", attributes{"axis": whole(1), "keepdims": whole(0)}, "i", "x"), nodeOf("OneHot", nil, "h", "i", "3", "v")), []int{2}, []float64{1, 4}, []float64{0, 2, 0}, nil},
	})
}

// TestFarConstants: functions of constants far from 0 do not overflow.
func TestFarConstants(t *testing.T) {
	g := joinedTo(nodeOf("Softplus", nil, "c", "a")).constant("a", floatsOf(-1000, 0, 20, 1000))
	checkExact(t, []exact{{"Softplus", g, []int{4}, []float64{0, 0, 0, 0}, []float64{0, math.Ln2, 20 + math.Log1p(math.Exp(-20)), 1000}, nil}})
}

// TestScaledSizes: places and their number are those that products in float32 give, as exporters and runtimes count them: 10 times the float32 next to
// 0.7, which is less than 0.7, is 7.
func TestScaledSizes(t *testing.T) {
	scale := float64(float32(0.7))
	x := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	floor := func(mode string, scale float64) Graph {
		return one("Resize", attributes{"coordinate_transformation_mode": textOf(mode), "nearest_mode": textOf("floor")}, nil, floatsOf(1, scale))
	}
	checkExact(t, []exact{
		{"number", floor("asymmetric", scale), []int{10}, x, []float64{0, 1, 2, 4, 5, 7, 8}, nil},
		{"place 2, which is 1.5 divided by 0.6, less 0.5", floor("half_pixel", float64(float32(0.6))), []int{6}, x[:6], []float64{0, 2, 3}, nil},
	})
}

// outputs gives the first node of a graph more outputs.
func (g Graph) outputs(names ...string) Graph {
	g.Nodes[0].Outputs = append(g.Nodes[0].Outputs, names...)
	return g
}

// TestSpecErrors: settings that would be computed as others are refused.
func TestSpecErrors(t *testing.T) {
	truths := Tensor{Type: raw.Bool, Shape: []int{}, Data: []byte{1}}
	images := []int{1, 3, 3}
	checkRefused(t, []opError{
		{one("Dropout", nil, floatOf(0.5), truths), []int{3}, "training_mode = 1 is not supported, only 0"},
		{one("BatchNormalization", nil, weights(1), weights(1), weights(1), weights(1)).with(11).outputs("mean", "var"), images, "3 outputs, which are those of a training, expected one; export the model after model.eval()"},
		{one("Resize", nil, nil, floatsOf(2, 1, 1, 1)), images, "the scale 2 along the axis of the examples, expected 1"},
		{one("DepthToSpace", attributes{"blocksize": whole(1), "mode": textOf("RCD")}), images, `mode "RCD", expected DCR or CRD`},
		{one("Gelu", attributes{"approximate": textOf("fast")}), []int{3}, `approximate "fast", expected none or tanh`},
		{one("Conv", attributes{"auto_pad": textOf("VALID"), "pads": list(1, 1, 1, 1)}, weights(2, 1, 1, 1)), images, "pads [1 1 1 1] with auto_pad VALID"},
		{one("Conv", attributes{"kernel_shape": list(3, 3)}, weights(2, 1, 1, 1)), images, "kernel_shape [3 3] for filters of (1, 1)"},
		{one("Tile", nil, integersOf(1)), []int{3}, "repeats [1] of shape [3 3], expected one for each axis"},
		{chain(nodeOf("Attention", attributes{"q_num_heads": whole(1), "kv_num_heads": whole(1)}, "y", "x", "x", "x", "m")).constant("m", constantOf(raw.I64, []int{2, 2}, 1, 0, 1, 1)), []int{2, 2}, "a mask of integers, expected truths or numbers"},
	})
}

// TestFixedBatch: places for the number of examples in the file do not become places in the first examples alone.
func TestFixedBatch(t *testing.T) {
	fixed := func(g Graph) Graph {
		g.Batch = 1
		return g
	}
	checkRefused(t, []opError{
		{fixed(one("ScatterND", nil, constantOf(raw.I64, []int{1, 2}, 0, 1), floatsOf(7))), []int{3}, "places for the number of examples in the file (1), but there are 3; export with a free number"},
		{fixed(one("ScatterElements", attributes{"axis": whole(1)}, constantOf(raw.I64, []int{1, 1}, 1), constantOf(raw.F64, []int{1, 1}, 0))), []int{3}, "places for the number of examples in the file (1)"},
		{fixed(chain(nodeOf("GatherElements", attributes{"axis": whole(1)}, "g", "x", "i"), nodeOf("Add", nil, "y", "x", "g")).constant("i", constantOf(raw.I64, []int{1, 3}, 2, 1, 0))), []int{3}, "places for the number of examples in the file (1)"},
	})
}

// TestFixedBatchOfWeights: weights with as many rows as there are examples keep the shape that the file says.
func TestFixedBatchOfWeights(t *testing.T) {
	g := chain(nodeOf("Reshape", nil, "r", "w", "s"), nodeOf("Add", nil, "y", "x", "r")).array("w", 3, 2).constant("s", integersOf(1, 3, 2))
	scatter := chain(nodeOf("ScatterND", nil, "s", "w", "i", "u"), nodeOf("Add", nil, "y", "x", "s")).array("w", 3, 2).constant("i", constantOf(raw.I64, []int{1, 1}, 0)).constant("u", Tensor{Type: raw.F64, Shape: []int{1, 2}, Data: make([]byte, 16)})
	flat := chain(nodeOf("Transpose", attributes{"perm": list(0, 2, 1)}, "t", "x"), nodeOf("Reshape", nil, "y", "t", "s")).constant("s", integersOf(1, 6))
	g.Batch, scatter.Batch, flat.Batch = 1, 1, 1
	sum := func(from int) naive {
		return func(net layers.Network, x []float64) []float64 {
			for i := range x {
				x[i] += weightsOf(net, 0)[i] * truth(i >= from)
			}
			return x
		}
	}
	layertest.Conform(t, []layertest.Case{
		{Name: "Reshape", Layer: g, Input: []int{3, 2}, Naive: sum(0)},
		{Name: "Reshape of examples", Layer: flat, Input: []int{3, 2}, Naive: picked(0, 0, 2, 4, 1, 3, 5)},
		{Name: "ScatterND", Layer: scatter, Input: []int{3, 2}, Naive: sum(2)},
	})
}

// TestUnusedOutputs: outputs without a name change nothing.
func TestUnusedOutputs(t *testing.T) {
	for _, g := range []Graph{
		one("LayerNormalization", nil, weights(3)).outputs("", ""),
		one("MaxPool", attributes{"kernel_shape": list(1, 1)}).outputs(""),
		one("BatchNormalization", nil, weights(1), weights(1), weights(1), weights(1)).with(11).outputs("", ""),
	} {
		if _, err := layers.OutputShape(layers.Layers{g}, 1, 3, 3); err != nil {
			t.Error(err)
		}
	}
}

// TestMaskOfTruths: truths that ConstantOfShape repeats are a mask, as other truths are. The first place sees itself alone; the query of the
// second one is 0, so that it takes the mean.
func TestMaskOfTruths(t *testing.T) {
	truth := Tensor{Type: raw.Bool, Shape: []int{1}, Data: []byte{1}}
	g := chain(nodeOf("ConstantOfShape", attributes{"value": {Tensor: &truth}}, "ones", "2×2"), nodeOf("Trilu", attributes{"upper": whole(0)}, "m", "ones"),
		nodeOf("Attention", attributes{"q_num_heads": whole(1), "kv_num_heads": whole(1)}, "a", "x", "x", "x", "m"), node("Flatten", "a", "y")).constant("2×2", integersOf(2, 2))
	checkExact(t, []exact{{"causal", g, []int{2, 1}, []float64{2, 0}, []float64{2, 1}, nil}})
}

// TestExamplesApart: an operator that joins the elements of several examples is found by layers.Apart: a prediction would depend on the rows beside it.
func TestExamplesApart(t *testing.T) {
	turned := func(op string, a attributes) Graph {
		return chain(nodeOf("Transpose", attributes{"perm": list(1, 0)}, "t", "x"), nodeOf(op, a, "s", "t"), nodeOf("Transpose", attributes{"perm": list(1, 0)}, "y", "s"))
	}
	flat := func(a attributes) Graph {
		return chain(nodeOf("Reshape", nil, "f", "x", "-1"), nodeOf("Softmax", a, "s", "f"), nodeOf("Reshape", nil, "y", "s", "shape")).constant("-1", integersOf(-1)).constant("shape", integersOf(-1, 3))
	}
	first := attributes{"axis": whole(0)}
	apart := func(g Graph) error {
		net, err := layers.Build(layers.SequentialForm{Input: []int{3}, Layers: layers.Layers{g}}, tensor.Float64, rand.New(rand.NewPCG(1, 2)))
		if err != nil {
			t.Fatal(err)
		}
		return layers.Apart(net, tensor.New(tensor.WithShape(3, 3), tensor.WithBacking([]float64{3, 1, -2, 4, 1, -5, 9, -2, 6})))
	}
	for i, g := range []Graph{
		one("Softmax", first), one("LogSoftmax", first), one("Hardmax", first), one("Softmax", first).with(11), turned("Softmax", nil), flat(nil), one("LpNormalization", first), one("CumSum", nil, integersOf(0)), one("LayerNormalization", first, weights(3)),
		chain(nodeOf("ReduceMean", attributes{"axes": list(0)}, "m", "x"), nodeOf("Sub", nil, "y", "x", "m")),
		chain(nodeOf("ReduceMax", nil, "m", "x"), nodeOf("Sub", nil, "y", "x", "m")),
		chain(nodeOf("ArgMax", nil, "m", "x"), nodeOf("Add", nil, "y", "x", "m")),
		chain(nodeOf("Transpose", attributes{"perm": list(1, 0)}, "t", "x"), nodeOf("MatMul", nil, "g", "t", "x"), nodeOf("MatMul", nil, "y", "x", "g")),
		chain(nodeOf("Gemm", attributes{"transA": whole(1)}, "g", "x", "x"), nodeOf("MatMul", nil, "y", "x", "g")),
		chain(nodeOf("Slice", nil, "s", "x", "0", "1", "0"), nodeOf("Sub", nil, "y", "x", "s")).constant("0", integersOf(0)).constant("1", integersOf(1)),
		chain(nodeOf("Slice", nil, "s", "x", "-1", "-9", "0", "-1"), nodeOf("Sub", nil, "y", "x", "s")).
			constant("-1", integersOf(-1)).constant("-9", integersOf(-1<<40)).constant("0", integersOf(0)),
		chain(nodeOf("Gather", first, "s", "x", "0"), nodeOf("Sub", nil, "y", "x", "s")).constant("0", integersOf(0)),
		chain(nodeOf("Einsum", attributes{"equation": textOf("bi,bj->ij")}, "g", "x", "x"), nodeOf("MatMul", nil, "y", "x", "g")),
		chain(nodeOf("Einsum", attributes{"equation": textOf("bi,ci->bc")}, "g", "x", "x"), nodeOf("MatMul", nil, "y", "g", "x")),
	} {
		if err := apart(g); err == nil || !strings.Contains(err.Error(), "expected a network that treats each row by itself") {
			t.Errorf("case %d: error %v", i, err)
		}
	}
	checkRefused(t, []opError{{one("Add", nil, weights(3, 1)), []int{3}, "for 11 examples, while it works for a few: node 1"}})
	for _, g := range []Graph{
		one("Softmax", nil), turned("Softmax", first), one("Softmax", nil).with(11), // weights have no examples, whatever their shape:
		chain(nodeOf("Softmax", first, "s", "w"), nodeOf("ReduceSum", attributes{"keepdims": whole(0)}, "r", "s", "0"), nodeOf("Mul", nil, "y", "x", "r")).array("w", 5, 3).constant("0", integersOf(0)),
	} {
		if err := apart(g); err != nil {
			t.Error(err)
		}
	}
}
