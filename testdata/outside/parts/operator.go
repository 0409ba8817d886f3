package parts

import (
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers/onnx"
)

func init() { onnx.Register(swish, writeSwish) }

// swish is the name of the operator x·sigmoid(βx), where β is the attribute beta of a node.
const swish = "com.example::Swish"

func writeSwish(b *graph.Builder, n onnx.Node, in []*graph.Node) ([]*graph.Node, error) {
	return []*graph.Node{b.Mul(in[0], b.Sigmoid(b.Scale(in[0], n.Attributes["beta"].Float)))}, nil
}

// swished is a layer that applies the operator with β = 1.5.
var swished = onnx.Graph{Opset: 17, Input: "x", Output: "y", Nodes: []onnx.Node{
	{Op: swish, Inputs: []string{"x"}, Outputs: []string{"y"}, Attributes: map[string]onnx.Attribute{"beta": {Float: 1.5}}},
}}
