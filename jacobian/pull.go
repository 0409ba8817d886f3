package jacobian

import (
	"math"
	"slices"

	"github.com/go-valla/valla/graph"
)

// pull returns the cotangents of the operands of n, given the cotangent ct of n. It tries four
// ways, the cheapest first. The way does not depend on the number of examples.
func (w *walk) pull(b *graph.Builder, n, ct *graph.Node) []*graph.Node {
	shared := w.alike[ct]
	if shared {
		if cts, ok := w.pullShared(b, n, ct); ok {
			return cts
		}
	}
	if graph.IsPointwise(n.Op()) && (shared || w.per > 1) {
		return w.pullPointwise(b, n, ct)
	}
	if graph.TakesNeighbours(n.Op()) {
		return w.pullNeighbours(b, n, ct)
	}
	return w.pullRepeated(b, n, ct)
}

// pullShared pulls back a cotangent that is the same for all examples, if the result is the
// same for all examples too. To find that out it replaces the operands by stand-ins of one
// row for each output; the result must not depend on them.
func (w *walk) pullShared(b *graph.Builder, n, ct *graph.Node) ([]*graph.Node, bool) {
	standIn := func(a *graph.Node) *graph.Node {
		if !w.batched[a] {
			return a
		}
		s := b.BroadcastTo(b.Fill(math.NaN(), 1), append([]int{w.per}, a.Shape()[1:]...)...) // never computed
		w.standIn[s] = true
		return s
	}
	in := graph.Children(n)
	ins := make([]*graph.Node, len(in))
	for i, a := range in {
		ins[i] = standIn(a)
	}
	cts := w.pullback(b, n, ins, standIn(n), w.rows(b, ct))
	for i, c := range cts {
		if c != nil && w.onStandIn(c) {
			return nil, false
		}
		cts[i] = w.split(b, c, 1, w.per)
		if c != nil && b.Err() == nil {
			w.alike[cts[i]] = true
		}
	}
	return cts, true
}

// onStandIn reports whether n is computed from a stand-in. Each node is looked at once in a walk.
func (w *walk) onStandIn(n *graph.Node) bool {
	is, known := w.standIn[n]
	if !known {
		is = slices.ContainsFunc(graph.Children(n), w.onStandIn)
		w.standIn[n] = is
	}
	return is
}

// pullPointwise multiplies the cotangent by the slope of a pointwise operation, which is the
// same for all outputs.
func (w *walk) pullPointwise(b *graph.Builder, n, ct *graph.Node) []*graph.Node {
	ones := b.BroadcastTo(b.Fill(1, 1), n.Shape()...) // in the memory of one number
	cts := w.pullback(b, n, graph.Children(n), n, ones)
	for i, slope := range cts {
		if slope != nil {
			cts[i] = b.Mul(ct, w.split(b, slope, w.examples, 1))
		}
	}
	return cts
}

// pullNeighbours applies a pullback that takes examples·per rows of the cotangent to examples rows of the operands.
func (w *walk) pullNeighbours(b *graph.Builder, n, ct *graph.Node) []*graph.Node {
	cts := w.pullback(b, n, graph.Children(n), n, w.full(b, ct))
	for i, c := range cts {
		cts[i] = w.split(b, c, w.examples, w.per)
	}
	return cts
}

// pullRepeated applies the operation's pullback to nodes of examples·per rows.
func (w *walk) pullRepeated(b *graph.Builder, n, ct *graph.Node) []*graph.Node {
	cts := w.pullback(b, n, w.repeatAll(b, graph.Children(n)), w.repeat(b, n), w.full(b, ct))
	for i, c := range cts {
		cts[i] = w.split(b, c, w.examples, w.per)
	}
	return cts
}

// pullback applies the rule of n's operation to the operands in, the result out and the
// cotangent ct, which replace the operands, the result and the cotangent of n. pullback returns the
// cotangents of the operands that lead to parameters.
func (w *walk) pullback(b *graph.Builder, n *graph.Node, in []*graph.Node, out, ct *graph.Node) []*graph.Node {
	own := graph.Children(n)
	return graph.Pullback(b, n.Op(), in, out, ct, func(i int) bool {
		return w.batched[own[i]] && w.active[own[i]] && own[i] != w.x
	})
}

// rows joins the axes of examples and outputs; split undoes it.
func (w *walk) rows(b *graph.Builder, n *graph.Node) *graph.Node {
	rows := b.Reshape(n, append([]int{n.Shape()[0] * n.Shape()[1]}, n.Shape()[2:]...)...)
	w.origin[rows] = n
	return rows
}

// full repeats [examples or 1, per or 1, …] to [examples·per, …]; split undoes it.
func (w *walk) full(b *graph.Builder, n *graph.Node) *graph.Node {
	rows := w.rows(b, repeated(b, n, append([]int{w.examples, w.per}, n.Shape()[2:]...)...))
	w.origin[rows] = n
	return rows
}

// split makes the rows of n two axes, examples and per. If rows or full made n, it returns the
// node from which they made it.
func (w *walk) split(b *graph.Builder, n *graph.Node, examples, per int) *graph.Node {
	if n == nil || w.origin[n] != nil {
		return w.origin[n]
	}
	return b.Reshape(n, append([]int{examples, per}, n.Shape()[1:]...)...)
}

// repeat repeats each row of a batched node per times.
func (w *walk) repeat(b *graph.Builder, n *graph.Node) *graph.Node {
	if w.per == 1 || !w.batched[n] || b.Err() != nil {
		return n
	}
	return w.full(b, w.split(b, n, w.examples, 1))
}

func (w *walk) repeatAll(b *graph.Builder, nodes []*graph.Node) []*graph.Node {
	all := make([]*graph.Node, len(nodes))
	for i, n := range nodes {
		all[i] = w.repeat(b, n)
	}
	return all
}
