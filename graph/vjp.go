package graph

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
)

// VJP returns, for each node of wrt, the vector-Jacobian product
// Σ_k (∂outputs_k/∂wrt)ᵀ cotangents_k, of the node's shape: reverse-mode
// differentiation, written into the graph as nodes. A node on which no output
// depends gets zeros.
//
// Any node may stand in wrt, a leaf or a result. The outputs are then functions of its
// value. Equal operations on equal operands are one node, so its value is used wherever
// the same formula was written.
//
// Nothing is kept on the nodes, so VJP may be called any number of times in one
// graph, and on its own results.
func VJP(b *Builder, outputs, cotangents, wrt []*Node) []*Node {
	cts, ok := pullBack(b, outputs, cotangents, wrt)
	if !ok {
		return make([]*Node, len(wrt))
	}
	grads := make([]*Node, len(wrt))
	for i, w := range wrt {
		if grads[i] = cts[w]; grads[i] == nil {
			grads[i] = b.zeros(w)
		}
	}
	return grads
}

// Grad returns the gradients of a node with one element with respect to wrt.
func Grad(b *Builder, y *Node, wrt ...*Node) []*Node {
	if b.usable("gradient", y) && size(y.Shape()) != 1 {
		b.Failf("graph: gradient of a node of shape %v; it must have one element", y.Shape())
	}
	if b.err != nil {
		return make([]*Node, len(wrt))
	}
	one := b.Fill(1, 1)
	return VJP(b, []*Node{y}, []*Node{b.reshaped(one, y.Shape()...)}, wrt)
}

// JVP returns, for each output, the Jacobian-vector product
// Σ_k (∂output/∂wrt_k) tangents_k, of the output's shape. It is the VJP of a VJP
// with respect to its cotangent, in which that VJP is linear; the arithmetic that
// remains is the arithmetic of forward-mode differentiation.
func JVP(b *Builder, outputs, wrt, tangents []*Node) []*Node {
	products := make([]*Node, len(outputs))
	if !checkTangents(b, wrt, tangents) {
		return products
	}
	for i, y := range outputs {
		if !b.usable("jvp", y) {
			return products
		}
		u := b.placeholder(y)
		products[i] = VJP(b, VJP(b, []*Node{y}, []*Node{u}, wrt), tangents, []*Node{u})[0]
	}
	return products
}

// checkTangents reports whether there is a tangent of its shape for each node.
func checkTangents(b *Builder, wrt, tangents []*Node) bool {
	if len(wrt) != len(tangents) {
		b.Failf("graph: jvp: %d nodes, %d tangents", len(wrt), len(tangents))
		return false
	}
	for i, t := range tangents {
		if !b.usable("jvp", wrt[i], t) {
			return false
		}
		if !slices.Equal(t.Shape(), wrt[i].Shape()) {
			b.Failf("graph: jvp: node %d has shape %v, its tangent %v", i, wrt[i].Shape(), t.Shape())
			return false
		}
	}
	return true
}

// placeholder stands for a cotangent of y that is differentiated away again.
func (b *Builder) placeholder(y *Node) *Node {
	seed := b.constant(fmt.Sprintf("cotangent of node %d", y.ID()), []int{1}, func([]float64) {})
	if y.Dims() == 0 {
		return b.Reshape(seed)
	}
	return b.BroadcastTo(seed, y.Shape()...)
}

// pullBack walks from the outputs to wrt and returns the cotangent of every node
// passed on the way.
func pullBack(b *Builder, outputs, cotangents, wrt []*Node) (map[*Node]*Node, bool) {
	if !checkVJP(b, outputs, cotangents, wrt) {
		return nil, false
	}
	order := Ancestors(outputs...)
	active := Dependents(order, wrt)
	cts := make(map[*Node]*Node)
	for i, y := range outputs {
		accumulate(b, cts, y, cotangents[i])
	}
	for _, n := range slices.Backward(order) {
		in := Children(n)
		if cts[n] == nil || !active[n] || len(in) == 0 {
			continue
		}
		for i, ct := range Pullback(b, n.Op(), in, n, cts[n], func(i int) bool { return active[in[i]] }) {
			accumulate(b, cts, in[i], ct)
		}
		if b.err != nil {
			return nil, false
		}
	}
	return cts, true
}

func checkVJP(b *Builder, outputs, cotangents, wrt []*Node) bool {
	if b.err == nil && len(outputs) != len(cotangents) {
		b.Failf("graph: vjp: %d outputs, %d cotangents", len(outputs), len(cotangents))
	}
	if b.err == nil && len(wrt) == 0 {
		b.Failf("graph: vjp: nothing to differentiate with respect to")
	}
	if !b.usable("vjp: outputs", outputs...) || !b.usable("vjp: cotangents", cotangents...) || !b.usable("vjp: wrt", wrt...) {
		return false
	}
	for i, y := range outputs {
		if ct := cotangents[i]; !slices.Equal(y.Shape(), ct.Shape()) {
			b.Failf("graph: vjp: output %d has shape %v, its cotangent %v", i, y.Shape(), ct.Shape())
		}
	}
	return b.err == nil
}

func accumulate(b *Builder, cts map[*Node]*Node, n, ct *Node) {
	switch {
	case ct == nil:
	case cts[n] == nil:
		cts[n] = ct
	default:
		cts[n] = b.Add(cts[n], ct)
	}
}

// Pullback applies op's own derivative: the cotangents of its inputs, given the
// cotangent ct of its output. Inputs that are not wanted, and those with a zero
// cotangent, are nil. in and out need not be the children and the node that op
// was first applied to, as long as they stand in the same relation.
func Pullback(b *Builder, op gorgonia.Op, in []*Node, out, ct *Node, want func(i int) bool) []*Node {
	cts := make([]*Node, len(in))
	own, isOwn := unwrap(op)
	var all gorgonia.Nodes
	for i := range in {
		switch {
		case b.err != nil || !want(i):
		case isOwn:
			cts[i] = own.Pullback(b, i, in, out, ct)
		default:
			if all == nil {
				all = b.foreignPullback(op, in, out, ct, want)
			}
			cts[i] = all[i]
		}
	}
	return cts
}
