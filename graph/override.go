package graph

import (
	"fmt"
	"slices"

	"gorgonia.org/tensor"
)

// A Rule writes the cotangents of some nodes, in their order and each of its node's shape,
// given a value that depends on them and its cotangent ct; nil means zero. It is linear in ct.
type Rule func(b *Builder, wrt []*Node, value, ct *Node) []*Node

// override is its first operand with a derivative of its own by the other operands.
type override struct {
	name string // identifies the rule
	rule Rule   // writes the cotangents of the other operands
}

// WithPullback returns value, whose derivative by the nodes of wrt is what rule says. The
// rule stands for all ways from wrt to value, and what else value depends on is a constant
// to it. As it consists of nodes, it can be differentiated again. Rules of the same name are
// the same rule. A program computes the value alone.
//
// It serves where a derivative is cheaper as a whole than step by step, as the derivative of a
// factorisation is.
func (b *Builder) WithPullback(name string, value *Node, rule Rule, wrt ...*Node) *Node {
	if b.usable("with pullback", value) && (rule == nil || len(wrt) == 0) {
		b.Failf("graph: with pullback %q: a rule is needed, and nodes to differentiate by", name)
	}
	return b.Apply(override{name, rule}, append([]*Node{value}, wrt...)...)
}

func (r override) Key() string { return fmt.Sprintf("with pullback %q", r.name) }

func (override) Shape(in []tensor.Shape) (tensor.Shape, error) { return in[0], nil }

// Pullback asks the rule anew for each operand, and the graph merges the nodes that are equal.
func (r override) Pullback(b *Builder, i int, in []*Node, out, ct *Node) *Node {
	if i == 0 {
		return nil
	}
	cts := r.rule(b, in[1:], out, ct)
	switch {
	case b.err != nil:
		return nil
	case len(cts) != len(in)-1:
		return b.Failf("graph: %s: the rule gives %d cotangents, expected %d", r.Key(), len(cts), len(in)-1)
	case cts[i-1] != nil && !slices.Equal(cts[i-1].Shape(), in[i].Shape()):
		return b.Failf("graph: %s: the rule gives a cotangent of shape %v for node %d, expected %v", r.Key(), cts[i-1].Shape(), i-1, in[i].Shape())
	}
	return cts[i-1]
}

func (override) RowWise([]bool, []tensor.Shape) bool { return false }

func (override) Forward([]tensor.Shape, tensor.Shape) Loops { return copying() }
