package onnxtest

import (
	"fmt"

	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/onnx"
)

// ResNet returns the graph that PyTorch exports of a residual network with batch norm kept apart,
// under the names of its state dictionary.
func ResNet(f layers.ResNet) (onnx.Graph, error) {
	list, err := f.Structure()
	if err != nil {
		return onnx.Graph{}, err
	}
	w := &writer{Graph: onnx.Graph{Opset: 17, Input: "x"}}
	w.Output = w.sequence(list, w.Input, f.Channels)
	return w.Graph, w.err
}

// writer appends nodes to a graph.
type writer struct {
	onnx.Graph
	channels int   // of the last result
	err      error // the first error
}

// node appends a node with one result and returns its name.
func (w *writer) node(op string, a map[string]onnx.Attribute, inputs ...string) string {
	out := fmt.Sprintf("/%s_%d", op, len(w.Nodes))
	w.Nodes = append(w.Nodes, onnx.Node{Op: op, Name: out, Inputs: inputs, Outputs: []string{out}, Attributes: a})
	return out
}

// array declares an array and returns its name.
func (w *writer) array(name string, state bool, shape ...int) string {
	w.Arrays = append(w.Arrays, onnx.Array{Name: name, Shape: shape, State: state})
	return name
}

// sequence writes layers for an input of some channels and returns the result.
func (w *writer) sequence(list layers.Layers, x string, channels int) string {
	w.channels = channels
	for _, l := range list {
		x = w.layer(l, x)
	}
	return x
}

func (w *writer) layer(l layers.Layer, x string) string {
	switch l := l.(type) {
	case layers.Conv2D:
		in := w.channels
		w.channels = l.Filters
		return w.node("Conv", window(l.Kernel, l.Stride, l.Padding), x, w.array(l.Name+".weight", false, l.Filters, in, l.Kernel, l.Kernel))
	case layers.BatchNorm:
		c := w.channels
		return w.node("BatchNormalization", map[string]onnx.Attribute{"epsilon": {Float: 1e-5}}, x, w.array(l.Name+".weight", false, c),
			w.array(l.Name+".bias", false, c), w.array(l.Name+".running_mean", true, c), w.array(l.Name+".running_var", true, c))
	case layers.MaxPool:
		return w.node("MaxPool", window(l.Size, l.Stride, l.Padding), x)
	case layers.GlobalAveragePool:
		return w.node("Flatten", map[string]onnx.Attribute{"axis": {Int: 1}}, w.node("GlobalAveragePool", nil, x))
	case layers.DenseLayer:
		return w.node("Gemm", map[string]onnx.Attribute{"alpha": {Float: 1}, "beta": {Float: 1}, "transB": {Int: 1}}, x,
			w.array(l.Name+".weight", false, l.Outputs, w.channels), w.array(l.Name+".bias", false, l.Outputs))
	case layers.ResidualLayer:
		in := w.channels
		short := x
		inner := w.sequence(l.Inner, x, in)
		if len(l.Shortcut) > 0 {
			short = w.sequence(l.Shortcut, x, in)
		}
		return w.node("Add", nil, inner, short)
	case layers.Activation:
		if l == "relu" {
			return w.node("Relu", nil, x)
		}
	}
	w.err = fmt.Errorf("onnxtest: the layer %s", layers.KindOf(l))
	return x
}

// window returns the settings of a convolution or a pool.
func window(size, stride, padding int) map[string]onnx.Attribute {
	k, s, p := int64(size), int64(max(stride, 1)), int64(padding)
	return map[string]onnx.Attribute{"kernel_shape": {Ints: []int64{k, k}}, "strides": {Ints: []int64{s, s}}, "pads": {Ints: []int64{p, p, p, p}}}
}
