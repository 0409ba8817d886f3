package onnx

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-valla/valla/graph"
)

// Operator writes what a node of a file computes into b's graph and returns the node's outputs.
// in has a graph node for each input of n, also for constants, and nil for an input that the file
// leaves out. The settings of n are in n.Attributes. An error is one line.
type Operator func(b *graph.Builder, n Node, in []*graph.Node) ([]*graph.Node, error)

// Register adds an operator to the table that [Operators] lists. An operator of a domain other
// than ONNX's own has the domain before its name, such as "com.example::Swish". Register is called
// from an init function; it panics if the name is empty or taken.
func Register(name string, op Operator) {
	if name == "" || op == nil || operators[name] != nil {
		panic(fmt.Sprintf("onnx: the operator %q is empty or registered twice", name))
	}
	operators[name] = func(c *call) []value {
		in := make([]*graph.Node, len(c.in))
		for i := range in {
			if c.has(i) {
				in[i] = c.node(i)
			}
		}
		out, err := op(c.b, *c.Node, in)
		if out = must(c, out, err); len(out) == 0 || slices.Contains(out, nil) {
			c.made(nil)
			c.failf("the operator gives no output")
		}
		return nodes(out...)
	}
}

// Operators lists the supported operators in alphabetical order.
func Operators() []string { return slices.Sorted(maps.Keys(operators)) }
