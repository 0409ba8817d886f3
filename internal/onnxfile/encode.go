package onnxfile

import (
	"fmt"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is a protocol buffer in the making.
type message []byte

func (m message) number(num protowire.Number, v int) message {
	return protowire.AppendVarint(protowire.AppendTag(m, num, protowire.VarintType), uint64(v))
}

func (m message) float(num protowire.Number, v float32) message {
	return protowire.AppendFixed32(protowire.AppendTag(m, num, protowire.Fixed32Type), math.Float32bits(v))
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

// encode returns the file of a model. The elements of arrays that outside has are in the file with the name data,
// from the byte that outside tells on.
func (m *Model) encode(data string, outside map[string]int) ([]byte, error) {
	if err := m.Check(); err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	var g message
	for _, n := range m.Nodes {
		g = g.bytes(1, n.encode())
	}
	g = g.texts(2, m.Name)
	for _, a := range m.Arrays {
		at, out := outside[a.Name]
		g = g.bytes(5, a.encode(data, at, out))
	}
	for _, v := range m.Inputs {
		g = g.bytes(11, v.encode())
	}
	for _, v := range m.Outputs {
		g = g.bytes(12, v.encode())
	}
	all := message{}.number(1, IR).texts(2, m.Producer).texts(3, m.Version).texts(6, m.Doc).bytes(7, g)
	all = all.bytes(8, message{}.texts(1, "").number(2, Opset))
	for _, e := range m.Meta {
		all = all.bytes(14, entry(e.Key, e.Text))
	}
	return all, nil
}

// entry is a pair of texts.
func entry(key, text string) message { return message{}.texts(1, key).texts(2, text) }

func (n Node) encode() message {
	m := message{}.texts(1, n.Inputs...).texts(2, n.Outputs...).texts(3, n.Outputs[0]).texts(4, n.Op)
	for _, a := range n.Attrs {
		m = m.bytes(5, a.encode())
	}
	return m
}

// encode writes the value and its type, field 20.
func (a Attr) encode() message {
	m := message{}.texts(1, a.Name)
	switch v := a.Value.(type) {
	case int:
		return m.number(3, v).number(20, 2)
	case float32:
		return m.float(2, v).number(20, 1)
	case string:
		return m.texts(4, v).number(20, 3)
	case []int:
		for _, n := range v {
			m = m.number(8, n)
		}
		return m.number(20, 7)
	}
	panic(fmt.Sprintf("onnxfile: attribute %q has the type %T", a.Name, a.Value))
}

func (a Array) encode(data string, at int, outside bool) message {
	var m message
	for _, d := range a.Shape {
		m = m.number(1, d)
	}
	m = m.number(2, int(a.Type)).texts(8, a.Name)
	if !outside {
		return m.bytes(9, a.Data)
	}
	for _, e := range []Entry{{"location", data}, {"offset", strconv.Itoa(at)}, {"length", strconv.Itoa(len(a.Data))}} {
		m = m.bytes(13, entry(e.Key, e.Text))
	}
	return m.number(14, 1)
}

func (v Value) encode() message {
	var shape message
	for _, d := range v.Shape {
		if d > 0 {
			shape = shape.bytes(1, message{}.number(1, d))
		} else {
			shape = shape.bytes(1, message{}.texts(2, "N"))
		}
	}
	return message{}.texts(1, v.Name).bytes(2, message{}.bytes(1, message{}.number(1, int(v.Type)).bytes(2, shape)))
}
