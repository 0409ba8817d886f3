package graph

import (
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Op defines one operation. This package and other packages define operations in the same
// way: write a type with these methods, hand the type to [Builder.Apply],
// and check the type by a row of a table for graphtest.Run.
//
// An Op whose Jacobian rows have a form of their own, such as an outer product,
// has the method RowPullback as well, with the arguments and the result of the function
// [RowPullback]. An Op that knows how many floating-point operations it takes has the method
//
//	Flops(in []tensor.Shape, out tensor.Shape) int
//
// For a function of each element by itself, [Pointwise] makes an Op.
type Op interface {
	// Key names the operation and every attribute that tells two operations apart: two
	// Ops of one Go type with one key are the same operation, and a graph holds the
	// same operation on the same operands once. Errors quote the key.
	Key() string
	// Shape returns the result's shape, or an error that names the shapes at fault.
	Shape(in []tensor.Shape) (tensor.Shape, error)
	// Pullback writes the cotangent of operand i, of the operand's shape, given the
	// cotangent ct of the result out; nil means zero. It is written as nodes, so that
	// it can be differentiated again.
	Pullback(b *Builder, i int, in []*Node, out, ct *Node) *Node
	// RowWise reports whether row r of the result depends on row r alone of the
	// operands marked as batched, and on no row of axis 0 of the others, however many
	// rows there are. An operation that always answers false is computed rightly, but
	// the Jacobians of a network that contains it are formed densely.
	RowWise(batched []bool, in []tensor.Shape) bool
	// Forward returns the loops that compute the result for operands of these shapes.
	Forward(in []tensor.Shape, out tensor.Shape) Loops
}

// Loops compute the result y of an operation from its operands x, which are row-major
// arrays, for each of the two element types. They write every element of y, keep none of
// the slices, and should not allocate. One goroutine at a time calls them. A nil loop
// means that graphs of that element type cannot use the operation.
type Loops struct {
	F32 func(y []float32, x [][]float32) error // for graphs of float32
	F64 func(y []float64, x [][]float64) error // for graphs of float64
}

// rowPullbacker is an Op that knows the Jacobian rows of an operand that is not batched.
// The arguments and the result are the arguments and the result of the function [RowPullback].
type rowPullbacker interface {
	Op
	RowPullback(b *Builder, i int, in []*Node, out, ct *Node) (Outer, bool)
}

// Apply adds the result of op to the graph, or returns the equal node that is there
// already.
func (b *Builder) Apply(op Op, in ...*Node) *Node {
	if b.err == nil && op == nil {
		b.Failf("graph: apply: the operation is nil")
	}
	if b.err != nil {
		return nil
	}
	o := &applied{Op: op, dt: b.dt, key: op.Key()}
	if !b.usable(o.key, in...) {
		return nil
	}
	o.in = shapes(in)
	var err error
	if o.out, err = op.Shape(o.in); err != nil {
		return b.Failf("graph: %s: %w", o.key, err)
	}
	if !possible(o.out) {
		return b.Failf("graph: %s: shapes %v make shape %v, which is empty or too large", o.key, o.in, o.out)
	}
	o.operands = slices.Clone(in)
	return b.add(o)
}

// usable reports whether nodes can be operands in b's graph, and fails b if not.
func (b *Builder) usable(what string, nodes ...*Node) bool {
	for i, n := range nodes {
		switch {
		case b.err != nil:
		case n == nil:
			b.Failf("graph: %s: input %d is nil", what, i)
		case n.Graph() != b.g:
			b.Failf("graph: %s: input %d belongs to another graph", what, i)
		case n.Dtype() != b.dt:
			b.Failf("graph: %s: input %d holds %v, the graph %v", what, i, n.Dtype(), b.dt)
		}
	}
	return b.err == nil
}

// add creates o's node. Gorgonia merges nodes whose 32-bit hashes agree without
// comparing their children, so add checks the node. If the node is not the node that
// was meant, add makes the node again under another hash.
func (b *Builder) add(o *applied) *Node {
	for {
		b.index.expect()
		o.setHash()
		n := gorgonia.NewUniqueNode(gorgonia.WithOp(o), gorgonia.WithChildren(slices.Clone(o.operands)), gorgonia.In(b.g),
			hashed, gorgonia.WithType(typeOf(o.dt, o.out)), gorgonia.WithShape(o.out...))
		if n.Op() == gorgonia.Op(o) || o.is(n.Op()) && slices.Equal(Children(n), o.operands) {
			return n
		}
		o.salt++
	}
}

// hashed makes a node remember the hash of its operation and operands. The hash of the operation counts the type and the
// shape, which Gorgonia would print once more.
func hashed(n *Node) { n.Hashcode() }

func unwrap(o gorgonia.Op) (Op, bool) {
	own, ok := o.(*applied)
	if !ok {
		return nil, false
	}
	return own.Op, true
}

// Children returns the operands of n in order, which must not be changed; none for a leaf.
func Children(n *Node) []*Node {
	// Gorgonia makes an iterator and two lists. A clone of a node has its operation, and operands in its own graph.
	if o, ok := n.Op().(*applied); ok && (len(o.operands) == 0 || o.operands[0].Graph() == n.Graph()) {
		return o.operands
	}
	it := n.Graph().From(n.ID())
	if it == nil || it.Len() == 0 {
		return nil
	}
	out := make([]*Node, 0, it.Len())
	for it.Next() {
		out = append(out, it.Node().(*Node))
	}
	return out
}
