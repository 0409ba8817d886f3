package graph

import (
	"slices"

	"gorgonia.org/tensor"
)

// Ancestors returns the nodes that the given ones are computed from, themselves
// included, operands before their users.
func Ancestors(nodes ...*Node) []*Node {
	// A node's ID grows with its creation, so this order depends on the graph
	// alone and not on which outputs were asked for first.
	return reached(nodes, Children, func(n *Node) int { return int(n.ID()) })
}

// reached returns the given nodes or expressions and all from which they are computed, in the order of
// their ids.
func reached[N comparable](from []N, operands func(N) []N, id func(N) int) []N {
	var none N
	var all []N // by id; none where it is not reached
	var visit func(n N)
	visit = func(n N) {
		i := id(n)
		if i >= len(all) {
			all = append(all, make([]N, i+1-len(all))...)
		}
		if all[i] != none {
			return
		}
		all[i] = n
		for _, c := range operands(n) {
			visit(c)
		}
	}
	for _, n := range from {
		visit(n)
	}
	return slices.DeleteFunc(all, func(n N) bool { return n == none })
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
