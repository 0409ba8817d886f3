package onnx

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/raw"
	"github.com/go-valla/valla/layers"
)

// opError is a graph of one node that the operator refuses.
type opError struct {
	Graph
	input []int // shape of one example
	want  string
}

// constantNode is a graph in which a node takes constants alone, and whose output is joined to x.
func constantNode(op string, a attributes, inputs ...Tensor) Graph {
	g := Graph{Opset: 18, Input: "x", Output: "y", Nodes: []Node{
		{Op: op, Outputs: []string{"c"}, Attributes: a}, {Op: "Add", Inputs: []string{"x", "c"}, Outputs: []string{"y"}},
	}}
	for i, t := range inputs {
		name := fmt.Sprint("input", i)
		g.Nodes[0].Inputs = append(g.Nodes[0].Inputs, name)
		g = g.constant(name, t)
	}
	return g
}

// floatOf is a constant without axes.
func floatOf(v float64) Tensor {
	c := floatsOf(v)
	c.Shape = []int{}
	return c
}

// opErrors has for each operator the calls that the operator refuses.
var opErrors = []opError{
	// Inputs.
	{one("Add", nil), []int{3}, "input 2 is missing"},
	{one("Add", nil, nil), []int{3}, "input 2 is missing"},
	{one("Add", nil, weights(4)), []int{3}, "(Add, opset 18): "},
	{one("Pow", nil, floatsOf(1, 2)), []int{3}, "shapes (2) and (3, 3) do not broadcast"},
	{one("Pow", nil, floatsOf(math.Inf(1))), []int{3}, "a power of +Inf"},
	{one("Clip", nil, floatsOf(1, 2)), []int{3}, "a bound of shape [2], expected one number"},
	{one("Softmax", attributes{"axis": whole(2)}), []int{3}, "axis 2 of 2"},
	{one("Softmax", attributes{"axis": whole(-3)}).with(12), []int{3}, "axis -3 of 2"},
	{one("ReduceMean", nil, integersOf(5)), []int{3}, "axis 5 of 2"},
	{one("ReduceProd", nil), []int{3}, "input 1 depends on the examples or the weights"},
	{constantNode("ReduceProd", attributes{"axes": list(0)}, constantOf(raw.I64, []int{1, 2}, 3, 4)), []int{2}, "a product along axes [0] of shape [1 2], expected all"},
	{one("Cast", attributes{"to": whole(8)}), []int{3}, "elements of ONNX's type 8, expected floating-point numbers, integers or booleans"},
	// Products and convolutions.
	{one("MatMul", nil, weights(4, 2)), []int{3}, "(MatMul, opset 18): "},
	{constantNode("MatMul", nil, constantOf(raw.I64, []int{1, 2}, 3, 4), constantOf(raw.I64, []int{2, 1}, 3, 4)), []int{1}, "a product of two constants"},
	{one("Gemm", nil, weights(4, 2)), []int{3}, "(Gemm, opset 18): "},
	{one("Conv", nil, weights(2, 1, 1, 1)), []int{3}, "shape (3, 3), expected [B,C,L] or [B,C,H,W]"},
	{one("Conv", nil, weights(2, 1, 1)), []int{1, 3, 3}, "filters of shape (2, 1, 1) for 2 axes"},
	{one("Conv", attributes{"group": whole(0)}, weights(2, 1, 1, 1)), []int{1, 3, 3}, "group 0"},
	{one("Conv", attributes{"strides": list(0, 1)}, weights(2, 1, 1, 1)), []int{1, 3, 3}, "strides [0 1], dilations [1 1] and size [1 1], expected at least 1"},
	{one("Conv", attributes{"strides": list(1)}, weights(2, 1, 1, 1)), []int{1, 3, 3}, "strides [1] for 2 axes"},
	{one("Conv", attributes{"pads": list(1)}, weights(2, 1, 1, 1)), []int{1, 3, 3}, "pads [1] for 2 axes"},
	{one("Conv", attributes{"pads": list(-1, 0, 0, 0)}, weights(2, 1, 1, 1)), []int{1, 3, 3}, "pads [-1 0 0 0], expected at least 0"},
	{one("Conv", attributes{"auto_pad": textOf("SAME")}, weights(2, 1, 1, 1)), []int{1, 3, 3}, `auto_pad "SAME"`},
	{one("Conv", nil, weights(2, 1, 1, 1), weights(1, 2)), []int{1, 3, 3}, "input 3 has shape (1, 2) for 4 axes, expected one number for each channel"},
	{one("ConvTranspose", attributes{"output_shape": list(5, 5)}, weights(1, 1, 2, 2)), []int{1, 3, 3}, "output_shape and auto_pad are not supported"},
	{one("ConvTranspose", attributes{"auto_pad": textOf("VALID")}, weights(1, 1, 2, 2)), []int{1, 3, 3}, "output_shape and auto_pad are not supported"},
	{one("ConvTranspose", attributes{"group": whole(-1)}, weights(1, 1, 2, 2)), []int{1, 3, 3}, "group -1"},
	{one("ConvTranspose", attributes{"output_padding": list(1, 1)}, weights(1, 1, 2, 2)), []int{1, 3, 3}, "expected fewer than the stride"},
	// Pools and norms.
	{one("MaxPool", attributes{"kernel_shape": list(4, 4)}), []int{1, 3, 3}, "windows of [4 4] in images of [3 3]: they do not fit"},
	{one("MaxPool", attributes{"kernel_shape": list(2, 2), "dilations": list(2, 2)}), []int{1, 5, 5}, "dilations [2 2] of a pool are not supported, only 1"},
	{Graph{Opset: 18, Input: "x", Output: "y", Nodes: []Node{{Op: "MaxPool", Inputs: []string{"x"}, Outputs: []string{"y", "at"}, Attributes: attributes{"kernel_shape": list(2, 2)}}}}, []int{1, 3, 3}, "the places of the largest elements are not supported"},
	{one("AveragePool", attributes{"kernel_shape": list(2)}), []int{1, 3, 3}, "kernel_shape [2] for 2 axes"},
	{one("GlobalAveragePool", nil), []int{3}, "shape (3, 3), expected [B,C,...]"},
	{one("GlobalMaxPool", nil), []int{3}, "shape (3, 3), expected [B,C,...]"},
	{one("BatchNormalization", attributes{"training_mode": whole(1)}, weights(1), weights(1), weights(1), weights(1)), []int{1, 2, 2}, "training_mode = 1 is not supported, only 0"},
	{one("InstanceNormalization", nil, weights(3), weights(3)), []int{3}, "shape (3, 3), expected [B,C,...]"},
	{one("LayerNormalization", attributes{"axis": whole(4)}, weights(3)), []int{3}, "axis 4 of 2"},
	{one("GroupNormalization", attributes{"num_groups": whole(2)}, weights(2), weights(2)), []int{3, 2, 2}, "in 2 groups of channels"},
	{one("RMSNormalization", attributes{"axis": whole(4)}, weights(3)), []int{3}, "axis 4 of 2"},
	{one("LpNormalization", attributes{"p": whole(3)}), []int{3}, "p = 3 is not supported, only 1 and 2"},
	{one("MeanVarianceNormalization", nil), []int{2, 2, 2}, "axes [0 2 3] with the axis of the examples are not supported"},
	{one("LRN", attributes{"size": whole(0)}), []int{2, 2, 2}, "with 0 channels together"},
	{one("Attention", nil, weights(1, 2, 2), weights(1, 2, 2)), []int{2, 2}, "shape (3, 2, 2) in 0 heads"},
	{one("Attention", attributes{"q_num_heads": whole(1), "kv_num_heads": whole(2)}, weights(1, 2, 2), weights(1, 2, 2)), []int{2, 2}, "1 heads of queries for 2 heads of keys"},
	{one("Attention", nil, weights(1), weights(1), nil, weights(1)), []int{2, 2}, "keys and values of the past"},
	{one("RotaryEmbedding", nil, weights(1, 2, 1), weights(1, 2, 1)), []int{1, 2, 3}, "3 elements to turn of 3"},
	{one("RotaryEmbedding", nil, weights(1, 2, 2), weights(1, 2, 2)), []int{1, 2, 2}, "angles of shape [1 2 2], expected [B,T,1]"},
	{one("RotaryEmbedding", nil, floatOf(1), floatOf(1), constantOf(raw.I64, []int{1, 1}, 0)), []int{1, 1, 4}, "angles of shape [], expected [places,2]"},
	// Places.
	{one("OneHot", nil, integersOf(0), floatsOf(0, 1)), []int{3}, "depth 0 and values [0 1]"},
	{one("CumSum", nil, integersOf(2)), []int{3}, "axis 2 of 2"},
	{one("GatherElements", nil, integersOf(1)), []int{3}, "places of shape [1] for shape [3 3] along axis 0"},
	{one("GatherND", nil, constantOf(raw.I64, []int{}, 1)), []int{3}, "places of shape []"},
	{one("GatherND", nil, weights(1, 1)), []int{3}, "expected constants, or one place for each example"},
	{one("GatherND", nil, constantOf(raw.I64, []int{1, 2}, 0, 7)), []int{3}, "place [0 7] in shape [3 3]"},
	{one("ScatterND", attributes{"reduction": textOf("add")}, constantOf(raw.I64, []int{2, 2}, 1, 1, 1, 1), weights(2)), []int{3}, "one place twice in a sum is not supported"},
	{one("ScatterND", attributes{"reduction": textOf("mul")}, constantOf(raw.I64, []int{1, 2}, 1, 1), weights(1)), []int{3}, `reduction "mul"`},
	{one("ScatterElements", attributes{"axis": whole(1)}, constantOf(raw.I64, []int{3, 1}, 7, 7, 7), weights(3, 1)), []int{3}, "place 7 along axis 1 of shape [3 3]"},
	{one("TopK", nil, integersOf(4)), []int{3}, "4 elements of shape (3, 3)"},
	{one("ArgMax", attributes{"select_last_index": whole(1)}), []int{3}, "select_last_index = 1 is not supported, only 0"},
	{one("EyeLike", nil), []int{2, 3}, "shape [3 2 3], expected a matrix"},
	{one("Einsum", attributes{"equation": textOf("ij,jk->ik")}), []int{3}, `2 terms in the equation "ij,jk->ik" for 1 inputs`},
	{one("Einsum", attributes{"equation": textOf("i->i")}), []int{3}, `the term "i" of the equation "i->i" for shape [3 3]`},
	{one("Einsum", attributes{"equation": textOf("ii->i")}), []int{3}, `the letter 'i' in the equation "ii->i"`},
	{one("Einsum", attributes{"equation": textOf("ij->k")}), []int{3}, `the letter 'k' in the equation`},
	{one("Einsum", attributes{"equation": textOf("ij,jk->ik")}, weights(4, 2)), []int{3}, `the letter 'j' has the extents 3 and 4`},
	// Shapes.
	{one("Reshape", nil, integersOf(0, 7)), []int{3}, "shape [3 3] cannot become [3 7]"},
	{one("Reshape", nil, integersOf(-1, -1)), []int{3}, "cannot become"},
	{one("Flatten", attributes{"axis": whole(3)}), []int{3}, "axis 3 of 2"},
	{one("Squeeze", nil, integersOf(1)), []int{3}, "shape [3 3] cannot become [3]"},
	{one("Unsqueeze", nil, integersOf(1, 1)), []int{3}, "new axes [1 1]"},
	{one("Unsqueeze", nil), []int{3}, "new axes []"},
	{one("Transpose", attributes{"perm": list(0, 0)}), []int{3}, "perm [0 0] of 2 axes"},
	{one("Expand", nil, integersOf(3, 4)), []int{3}, "do not fit together"},
	{one("Tile", nil, integersOf(1, 0)), []int{3}, "repeats [1 0] of shape"},
	{one("Concat", attributes{"axis": whole(2)}, weights(3)), []int{3}, "axis 2 of 2"},
	{constantNode("Concat", nil, constantOf(raw.I64, []int{1, 2}, 1, 2), constantOf(raw.I64, []int{1, 3}, 1, 2, 3)), []int{2}, "shapes [1 2] and [1 3] along axis 0"},
	{one("Split", attributes{"axis": whole(1), "num_outputs": whole(2)}), []int{3}, "2 parts of an axis of 3 for 1 outputs"},
	{one("Split", attributes{"axis": whole(1)}, integersOf(2, 2)), []int{3}, "parts [2 2] of an axis of 3"},
	{one("Split", attributes{"axis": whole(1)}, integersOf()), []int{3}, "parts [] of an axis of 3"},
	{one("Slice", nil, integersOf(0), integersOf(1, 2)), []int{3}, "starts [0], ends [1 2]"},
	{one("Slice", nil, integersOf(0), integersOf(2), integersOf(1), integersOf(0)), []int{3}, "a step of 0"},
	{one("Slice", nil, integersOf(0), integersOf(2), integersOf(4)), []int{3}, "axis 4 of 2"},
	{one("Gather", attributes{"axis": whole(1)}, integersOf(3)), []int{3}, "place 3 along axis 1 of shape [3 3]"},
	{one("Gather", attributes{"axis": whole(1)}, integersOf(0, -4)), []int{3}, "place -1 along axis 1 of shape [3 3]"},
	{one("Gather", attributes{"axis": whole(1)}, weights(2)), []int{3}, "places that depend on the input along axis 1, expected the rows of a table"},
	{one("DepthToSpace", attributes{"blocksize": whole(2)}), []int{3, 2, 2}, "in blocks of 2"},
	{one("DepthToSpace", attributes{"blocksize": whole(1 << 32)}), []int{4, 2, 2}, "in blocks of 4294967296"},
	{one("SpaceToDepth", attributes{"blocksize": whole(2)}), []int{1, 3, 2}, "in blocks of 2"},
	{constantNode("Constant", nil), []int{2}, "no value of floating-point numbers or integers"},
	{constantNode("ConstantOfShape", attributes{"value": {Tensor: new(floatsOf(1, 2))}}, integersOf(2)), []int{2}, "filled with [2]"},
	{one("Trilu", nil, integersOf()), []int{3}, "a diagonal of shape [0], expected one number"},
	{constantNode("Range", nil, floatsOf(0, 1), floatsOf(1), floatsOf(1)), []int{2}, "a start of shape [2], expected one number"},
	{constantNode("Range", nil, floatsOf(0), floatsOf(1), floatsOf(0)), []int{2}, "a range from 0 to 1 by 0"},
	// Pads and sizes.
	{one("Pad", nil, integersOf(1, 1)), []int{3}, "pads [1 1] for the axes [0 1]"},
	{one("Pad", nil, integersOf(1, 1, 1, 1), nil, integersOf(1, -1)), []int{3}, "axes [1 -1] of 2, expected each once"},
	{one("Pad", nil, integersOf(0, -2, 0, -1)), []int{3}, "pads -2 and -1 of an axis of 3"},
	{one("Pad", attributes{"mode": textOf("mirror")}, integersOf(0, 1, 0, 1)), []int{3}, `mode "mirror"`},
	{one("Pad", attributes{"mode": textOf("reflect")}, integersOf(0, 5, 0, 0)), []int{3}, "place -1 along axis 1"},
	{one("Resize", nil, nil, floatsOf(1, 2, 2)), []int{3}, "scales [1 2 2] and sizes [], expected one for each of 2 axes"},
	{one("Resize", nil, nil, floatsOf(1, 0.1)), []int{3}, "0 places along axis 1"},
	{one("Resize", attributes{"antialias": whole(1)}, nil, floatsOf(1, 2)), []int{3}, "antialias = 1 is not supported, only 0"},
	{one("Resize", attributes{"keep_aspect_ratio_policy": textOf("not_larger")}, nil, nil, integersOf(3, 4)), []int{3}, `keep_aspect_ratio_policy "not_larger" is not supported, only stretch`},
	{one("Resize", attributes{"axes": list(1, 1)}, nil, floatsOf(2, 2)), []int{3}, "axes [1 1] of 2, expected each once"},
	{one("Resize", attributes{"mode": textOf("cubic")}, nil, floatsOf(1, 2)), []int{3}, `mode "cubic", expected nearest or linear`},
	{one("Resize", attributes{"nearest_mode": textOf("up")}, nil, floatsOf(1, 2)), []int{3}, `nearest_mode "up"`},
	{one("Resize", attributes{"coordinate_transformation_mode": textOf("tf")}, nil, floatsOf(1, 2)), []int{3}, `coordinate_transformation_mode "tf"`},
	// Recurrent layers.
	{recurrentGraph("LSTM", 4, 2, 3, 2, 1, "sideways"), []int{2, 3}, `direction "sideways" with weights of shape (1, 8, 3)`},
	{recurrentGraph("GRU", 3, 2, 3, 2, 1, "bidirectional"), []int{2, 3}, `direction "bidirectional" with weights of shape (1, 6, 3)`},
}

// TestOperatorErrors: an operator that refuses a node says so in one line, with the node, the
// operator and the opset.
func TestOperatorErrors(t *testing.T) { checkRefused(t, opErrors) }

// checkRefused fails unless each graph is refused.
func checkRefused(t *testing.T, all []opError) {
	t.Helper()
	for _, c := range all {
		_, err := layers.OutputShape(layers.Layers{c.Graph}, c.input...)
		if err == nil {
			t.Errorf("no error, want %q", c.want)
			continue
		}
		for _, want := range []string{"layers: layer 1 (onnx): ", "node ", "opset ", c.want} {
			if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %q", err, want)
			}
		}
	}
}

// TestConstantSequence: a recurrent layer may run over a constant from states of the examples.
func TestConstantSequence(t *testing.T) {
	g := chain(nodeOf("Shape", attributes{"end": whole(1)}, "n", "x"), nodeOf("Concat", nil, "shape", "2", "n", "1"), nodeOf("Expand", nil, "c", "steps", "shape"), nodeOf("Unsqueeze", nil, "h", "x", "0"), Node{Op: "RNN", Inputs: []string{"c", "w", "r", "", "", "h"}, Outputs: []string{"", "last"}}, nodeOf("Squeeze", nil, "y", "last", "0")).
		constant("0", integersOf(0)).constant("1", integersOf(1)).constant("2", integersOf(2)).constant("steps", constantOf(raw.I64, []int{2, 1, 1}, 1, 4)).array("w", 1, 2, 1).array("r", 1, 2, 2)
	if out, err := layers.OutputShape(layers.Layers{g}, 2); err != nil || !slices.Equal(out, []int{2}) {
		t.Errorf("shape %v, error %v, want [2]", out, err)
	}
}

// TestGraphErrors: a graph that no file can describe is refused before anything is computed.
func TestGraphErrors(t *testing.T) {
	for want, spoil := range map[string]func(g *Graph){
		"opset 10, expected 11 to 24":                      func(g *Graph) { g.Opset = 10 },
		"opset 25, expected 11 to 24":                      func(g *Graph) { g.Opset = 25 },
		`two values are called "x"`:                        func(g *Graph) { g.Arrays = []Array{{Name: "x", Shape: []int{1}}} },
		`two values are called "c"`:                        func(g *Graph) { g.Constants = []Tensor{{Name: "c"}, {Name: "c"}} },
		`its input "gone" comes from no node before it`:    func(g *Graph) { g.Nodes[0].Inputs[0] = "gone" },
		"it has no output":                                 func(g *Graph) { g.Nodes[0].Outputs = nil },
		`no node computes the output "gone"`:               func(g *Graph) { g.Output = "gone" },
		`no node computes the output ""`:                   func(g *Graph) { g.Output = "" },
		`(Sort, opset 18): this operator is not supported`: func(g *Graph) { g.Nodes[0].Op = "Sort" },
		`("a\nb", opset 18): this operator`:                func(g *Graph) { g.Nodes[0].Op = "a\nb" },
		"does not depend on the input and the weights":     func(g *Graph) { g.Nodes[0] = Node{Op: "Shape", Inputs: []string{"x"}, Outputs: []string{"y"}} },
		`the output "y" has shape (9)`: func(g *Graph) {
			g.Constants = []Tensor{{Name: "flat", Type: raw.I64, Shape: []int{1}, Data: integersOf(-1).Data}}
			g.Nodes[0] = Node{Op: "Reshape", Inputs: []string{"x", "flat"}, Outputs: []string{"y"}}
		},
	} {
		g := one("Relu", nil)
		spoil(&g)
		_, err := layers.OutputShape(layers.Layers{g}, 3)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %q", err, want)
		}
		if _, err := g.Rows([]int{3}); err == nil {
			t.Errorf("Rows took what %q forbids", want)
		}
	}
}

// registered are the operators of register_test.go.
var registered = []string{"Halves", "Nothing", "Misfit", "Broken", "com.example::Swish"}

// TestEveryOperatorIsTested: an operator that refuses something has a row above, or takes nothing
// that could be wrong.
func TestEveryOperatorIsTested(t *testing.T) {
	tested := map[string]bool{}
	for _, c := range slices.Concat(cases, moreCases) {
		for _, n := range c.Layer.(Graph).Nodes {
			tested[n.Op] = true
		}
	}
	for _, c := range opErrors {
		for _, n := range c.Nodes {
			tested[n.Op] = true
		}
	}
	// Unary functions and operators of constants, which the networks of testdata have.
	for _, op := range strings.Fields("Relu Tanh Sigmoid Softplus Erf Log Sqrt Sin Cos Ceil Round Not Div Mod Less LessOrEqual Greater GreaterOrEqual And Or IsInf EyeLike Sum LogSoftmax ReduceSum ReduceSumSquare Identity Shape Size Cast CastLike Trilu RNN Mul Neg Sub") {
		tested[op] = true
	}
	for _, op := range Operators() {
		if !tested[op] && !slices.Contains(registered, op) {
			t.Errorf("the operator %s has no row", op)
		}
	}
}
