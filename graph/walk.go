package graph

import (
	"cmp"
	"slices"

	"gorgonia.org/tensor"
)

// Ancestors returns the nodes that the given ones are computed from, themselves
// included, operands before their users.
func Ancestors(nodes ...*Node) []*Node {
	// A node's ID grows with its creation, so this order depends on the graph
	// alone and not on which outputs were asked for first.
	return reached(nodes, Children, (*Node).ID)
}

// reached returns the given nodes or expressions and all from which they are computed, in the order of
// their ids.
func reached[N comparable, ID cmp.Ordered](from []N, operands func(N) []N, id func(N) ID) []N {
	seen := make(map[N]bool)
	var order []N
	var visit func(n N)
	visit = func(n N) {
		if seen[n] {
			return
		}
		seen[n] = true
		for _, c := range operands(n) {
			visit(c)
		}
		order = append(order, n)
	}
	for _, n := range from {
		visit(n)
	}
	slices.SortStableFunc(order, func(a, b N) int { return cmp.Compare(id(a), id(b)) })
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
