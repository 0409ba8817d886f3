package onnxfile

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The version of the format, and of the operators of ONNX, that models are written for.
const (
	IR    = 8
	Opset = 17
)

// Type is ONNX's number of a type of elements.
type Type int

// The types of elements.
const (
	Float  Type = 1
	Uint8  Type = 2
	Int64  Type = 7
	Double Type = 11
)

// Size returns the bytes of an element.
func (t Type) Size() int {
	switch t {
	case Float:
		return 4
	case Uint8:
		return 1
	}
	return 8
}

// Model is a model in the making.
type Model struct {
	Name     string  // of the graph
	Doc      string  // a text for people
	Producer string  // name of the program
	Version  string  // of the program
	Nodes    []Node  // each after those whose outputs it takes
	Arrays   []Array // initialisers
	Inputs   []Value // what a run is given
	Outputs  []Value // what a run returns
	Meta     []Entry // metadata, in order
}

// Node is one operation.
type Node struct {
	Op      string   // name of the operator
	Inputs  []string // names of values; empty for an input that is left out
	Outputs []string // names of values
	Attrs   []Attr   // settings
}

// Attr is a setting of a node. Value is an int, a float32, a string or an []int.
type Attr struct {
	Name  string // of the setting
	Value any    // see Attr
}

// Array is an array of constants, with its elements little-endian and row-major.
type Array struct {
	Name  string // of the value
	Type  Type   // of the elements
	Shape []int  // extents of the axes; empty for a single number
	Data  []byte // the elements
}

// Value describes an input or an output. An extent of 0 is the number of examples, which is free.
type Value struct {
	Name  string // of the value
	Type  Type   // of the elements
	Shape []int  // extents of the axes
}

// Entry is a text in the metadata.
type Entry struct{ Key, Text string }

// Floats returns an array of numbers.
func Floats[T float32 | float64](name string, v []T, shape ...int) Array {
	a := Array{Name: name, Type: Double, Shape: shape}
	if _, ok := any(v).([]float32); ok {
		a.Type = Float
	}
	a.Data = make([]byte, 0, len(v)*a.Type.Size())
	for _, x := range v {
		if a.Type == Float {
			a.Data = binary.LittleEndian.AppendUint32(a.Data, math.Float32bits(float32(x)))
		} else {
			a.Data = binary.LittleEndian.AppendUint64(a.Data, math.Float64bits(float64(x)))
		}
	}
	return a
}

// Ints returns an array of whole numbers.
func Ints(name string, v []int, shape ...int) Array {
	a := Array{Name: name, Type: Int64, Shape: shape, Data: make([]byte, 0, 8*len(v))}
	for _, x := range v {
		a.Data = binary.LittleEndian.AppendUint64(a.Data, uint64(x))
	}
	return a
}

// Check returns an error unless every node takes values that are known before it, and no two values have one name.
func (m *Model) Check() error {
	known := map[string]bool{"": true}
	define := func(name string) error {
		if known[name] {
			return fmt.Errorf("two values are called %q", name)
		}
		known[name] = true
		return nil
	}
	for _, v := range m.Inputs {
		if err := define(v.Name); err != nil {
			return err
		}
	}
	for _, a := range m.Arrays {
		if err := define(a.Name); err != nil {
			return err
		}
	}
	for _, n := range m.Nodes {
		for _, in := range n.Inputs {
			if !known[in] {
				return fmt.Errorf("%s takes %q, which comes from no node before it", n.Op, in)
			}
		}
		for _, out := range n.Outputs {
			if err := define(out); err != nil {
				return err
			}
		}
	}
	for _, v := range m.Outputs {
		if !known[v.Name] {
			return fmt.Errorf("no node computes the output %q", v.Name)
		}
	}
	return nil
}
