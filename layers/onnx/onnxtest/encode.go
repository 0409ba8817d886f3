// Package onnxtest writes ONNX models for tests: of any [onnx.Graph], see [Encode], and of the
// residual networks of package layers, see [ResNet].
package onnxtest

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/raw"
	"github.com/go-valla/valla/layers/onnx"
)

// message is a protocol buffer in the making.
type message []byte

func (m message) number(num protowire.Number, v int64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, num, protowire.VarintType), uint64(v))
}

func (m message) bytes(num protowire.Number, v []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, num, protowire.BytesType), v)
}

func (m message) texts(num protowire.Number, v ...string) message {
	for _, s := range v {
		m = m.bytes(num, []byte(s))
	}
	return m
}

// Encode returns an ONNX model of a graph for examples of shape input. value returns the arrays
// by their names; they are written as float32.
func Encode(g onnx.Graph, input []int, value func(name string) *tensor.Dense) []byte {
	var m message
	for _, n := range g.Nodes {
		m = m.bytes(1, node(n))
	}
	m = m.texts(2, "graph")
	for _, a := range g.Arrays {
		m = m.bytes(5, weights(a, value(a.Name)))
	}
	for _, c := range g.Constants {
		m = m.bytes(5, constant(c))
	}
	m = m.bytes(11, info(g.Input, append([]int{g.Batch}, input...))).bytes(12, info(g.Output, nil))
	return message{}.number(1, 8).bytes(7, m).bytes(8, message{}.number(2, int64(g.Opset)))
}

// info describes an array; an extent of 0 is open.
func info(name string, dims []int) message {
	var shape message
	for _, d := range dims {
		dim := message{}.texts(2, "N")
		if d > 0 {
			dim = message{}.number(1, int64(d))
		}
		shape = shape.bytes(1, dim)
	}
	return message{}.texts(1, name).bytes(2, message{}.bytes(1, message{}.number(1, 1).bytes(2, shape)))
}

func node(n onnx.Node) message {
	domain, op, own := strings.Cut(n.Op, "::")
	if !own {
		domain, op = "", n.Op
	}
	m := message{}.texts(1, n.Inputs...).texts(2, n.Outputs...).texts(3, n.Name).texts(4, op).texts(7, domain)
	for name, a := range n.Attributes {
		m = m.bytes(5, attribute(name, a))
	}
	return m
}

func attribute(name string, a onnx.Attribute) message {
	m := message{}.texts(1, name)
	if a.Float != 0 {
		m = protowire.AppendFixed32(protowire.AppendTag(m, 2, protowire.Fixed32Type), math.Float32bits(float32(a.Float)))
	}
	m = m.number(3, a.Int)
	if a.Text != "" {
		m = m.texts(4, a.Text)
	}
	if a.Tensor != nil {
		m = m.bytes(5, constant(*a.Tensor))
	}
	for _, v := range a.Floats {
		m = protowire.AppendFixed32(protowire.AppendTag(m, 7, protowire.Fixed32Type), math.Float32bits(float32(v)))
	}
	for _, v := range a.Ints {
		m = m.number(8, v)
	}
	return m.texts(9, a.Texts...)
}

// types are ONNX's numbers of the types of elements.
var types = map[raw.Type]int64{raw.F32: 1, raw.I64: 7, raw.Bool: 9, raw.F64: 11}

func constant(t onnx.Tensor) message {
	return array(t.Name, types[t.Type], t.Shape, t.Data)
}

func weights(a onnx.Array, v *tensor.Dense) message {
	var data []byte
	for _, x := range graph.Floats(v) {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(x)))
	}
	return array(a.Name, types[raw.F32], a.Shape, data)
}

func array(name string, typ int64, shape []int, data []byte) message {
	var m message
	for _, d := range shape {
		m = m.number(1, int64(d))
	}
	return m.number(2, typ).texts(8, name).bytes(9, slices.Clone(data))
}
