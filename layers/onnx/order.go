package onnx

import (
	"slices"

	"github.com/go-valla/valla/graph"
)

// Recurrent layers take the steps on axis 0 and the examples on axis 1, and exporters transpose
// before and after them. Jacobians by rows need the examples on axis 0. So a value remembers the
// node that it is a transpose of, and what undoes a transposition uses that. Nodes that nothing
// uses cost nothing. Values that depend on the examples have their rows instead, see byRows, but
// in files of earlier versions.

// ordered returns a node that is the transpose of origin: axis d is axis perm[d] of origin.
func (c *call) ordered(n, origin *graph.Node, perm []int) value {
	switch {
	case slices.IsSorted(perm):
		return value{node: origin}
	case perm[0] == 0: // the examples are first in both
		n = c.made(c.b.Transpose(origin, perm...))
	}
	return value{node: n, origin: origin, perm: perm}
}

// origin returns the node that a value is a transpose of, and how.
func (c *call) origin(v value) (of *graph.Node, perm []int) {
	if v.origin != nil {
		return v.origin, v.perm
	}
	return v.node, c.axes(nil, v.node.Dims())
}

func (c *call) transposedNode(v value, perm []int) value {
	if c.examplesFirst && (v.rows != nil || c.rows(v) && perm[0] != 0) {
		if y, ok := c.turn(v, perm); ok {
			return y
		}
	}
	of, own := c.origin(v)
	both := make([]int, len(perm))
	for d, p := range perm {
		both[d] = own[p]
	}
	return c.ordered(c.made(c.b.Transpose(v.node, perm...)), of, both)
}

// reshapedNode joins axes, or leaves out axes of one element, in the origin too if it can.
func (c *call) reshapedNode(v value, shape []int) value {
	switch {
	case v.rows != nil:
		return c.byRows(v.rows, shape, v.before)
	case c.examplesFirst && c.rows(v) && len(shape) > 0 && shape[0] != c.batch:
		return c.byRows(v.node, shape, 1)
	}
	y := value{node: c.made(c.b.Reshape(v.node, shape...))}
	runs := joins(v.node.Shape(), shape)
	if v.origin == nil || runs == nil {
		return y
	}
	first := make([]int, len(runs)) // the first axis of each new axis in the origin
	for k, run := range runs {
		var places []int
		for d := run[0]; d < run[1]; d++ {
			if v.node.Shape()[d] > 1 {
				places = append(places, v.perm[d])
			}
		}
		if places == nil {
			places = slices.Clone(v.perm[run[0]:run[1]])
			slices.Sort(places)
			places = places[:1]
		}
		for i := 1; i < len(places); i++ {
			if between := v.origin.Shape()[places[i-1]+1 : max(places[i], places[i-1]+1)]; places[i] < places[i-1] || product(between) != 1 {
				return y
			}
		}
		first[k] = places[0]
	}
	order := c.axes(nil, len(shape))
	slices.SortFunc(order, func(a, b int) int { return first[a] - first[b] })
	to, perm := make([]int, len(shape)), make([]int, len(shape))
	for place, k := range order {
		to[place], perm[k] = shape[k], place
	}
	return c.ordered(y.node, c.made(c.b.Reshape(v.origin, to...)), perm)
}

// joins returns for each axis of a new shape the range of old axes that it joins; nil if an axis
// is divided or added.
func joins(from, to []int) [][2]int {
	var runs [][2]int
	d := 0
	for k, n := range to {
		start, have := d, 1
		for d < len(from) && (d == start || have < n) {
			have *= from[d]
			d++
		}
		for d < len(from) && from[d] == 1 && (k+1 == len(to) || to[k+1] != 1) {
			d++
		}
		if have != n || d == start {
			return nil
		}
		runs = append(runs, [2]int{start, d})
	}
	if d != len(from) {
		return nil
	}
	return runs
}

// alongAxis applies what works along one axis to the origin too.
func (c *call) alongAxis(v value, axis int, f func(n *graph.Node, axis int) *graph.Node) value {
	if v.rows != nil {
		if y, ok := c.along(v, axis, f); ok {
			return y
		}
	}
	y := f(v.node, axis)
	if v.origin == nil {
		return value{node: y}
	}
	return c.ordered(y, f(v.origin, v.perm[axis]), v.perm)
}
