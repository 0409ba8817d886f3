package graph

import (
	"cmp"
	"slices"

	"gorgonia.org/tensor"
)

// Ancestors returns the nodes that the given ones are computed from, themselves
// included, operands before their users.
func Ancestors(nodes ...*Node) []*Node {
	seen := make(map[*Node]bool)
	var order []*Node
	var visit func(n *Node)
	visit = func(n *Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		for _, c := range Children(n) {
			visit(c)
		}
		order = append(order, n)
	}
	for _, n := range nodes {
		visit(n)
	}
	// A node's ID grows with its creation, so this order depends on the graph
	// alone and not on which outputs were asked for first.
	slices.SortStableFunc(order, func(a, b *Node) int { return cmp.Compare(a.ID(), b.ID()) })
	return order
}

// Dependents marks the nodes of order (operands first) that are computed from one
// of the given nodes, those included.
func Dependents(order, from []*Node) map[*Node]bool {
	marked := make(map[*Node]bool)
	for _, n := range from {
		marked[n] = true
	}
	for _, n := range order {
		for _, c := range Children(n) {
			if marked[c] {
				marked[n] = true
			}
		}
	}
	return marked
}

func isLeaf(n *Node) bool { return len(Children(n)) == 0 }

func shapes(nodes []*Node) []tensor.Shape {
	out := make([]tensor.Shape, len(nodes))
	for i, n := range nodes {
		out[i] = n.Shape()
	}
	return out
}

// Unshaped returns what n is a reshaped form of, n itself if it is not one.
func Unshaped(n *Node) *Node {
	for {
		op, _ := unwrap(n.Op())
		if _, ok := op.(reshape); !ok {
			return n
		}
		n = Children(n)[0]
	}
}

// sameShape compares shapes by extents. tensor.Shape.Eq takes (n), (n,1) and (1,n)
// for equal.
func sameShape(a, b tensor.Shape) bool { return slices.Equal(a, b) }
