package onnx

import (
	"slices"

	"github.com/go-valla/valla/graph"
)

// PyTorch's attention has the steps on axis 0 and the examples behind them, and joins and divides this axis: it computes with
// [T,B,E], [B·heads,T,E/heads] and [T·B,E]. Jacobians by rows need the examples on axis 0. In row-major order the elements of all
// of these are [P,B,Q], for some P, and a reshape does not change this, whatever axes it joins or divides. So a value remembers P
// and its rows, which are the elements in the order [B,P,Q], and what treats all examples alike is computed from the rows. Nodes that
// nothing uses cost nothing.

// spot is where the examples lie in a shape: on an axis [outer,B,…], counted from the end and thus below 0.
type spot struct{ axis, outer int }

// spot returns where the examples lie in a shape of a value [before,B,…].
func (c *call) spot(shape []int, before int) (s spot, ok bool) {
	for d, n := range shape {
		if before < n {
			return spot{d - len(shape), before}, n%(before*c.batch) == 0
		}
		if before%n != 0 {
			break
		}
		before /= n
	}
	return spot{}, false
}

// byRows returns a value of a shape with the elements [before,B,…], of which rows are [B,before,…].
func (c *call) byRows(rows *graph.Node, shape []int, before int) value {
	if c.batch == 1 {
		before = 1 // one example lies anywhere
	}
	n := rows
	if before > 1 {
		n = c.b.Transpose(c.b.Reshape(rows, c.batch, before, rows.Shape().TotalSize()/(c.batch*before)), 1, 0, 2)
	}
	y := value{node: c.made(c.b.Reshape(n, shape...))}
	if _, ok := c.spot(shape, before); ok && (before > 1 || shape[0] != c.batch) {
		y.rows, y.before = rows, before
	}
	return y
}

// oneByOne returns the rows of a value as [B,…], where … is the shape of the value for one example, after axes of extent 1 up to a
// number of axes.
func (c *call) oneByOne(v value, axes int) (rows *graph.Node, at spot, ok bool) {
	rows, before := v.rows, v.before
	if rows == nil {
		rows, before = v.node, 1
	}
	if v.rows == nil && !c.rows(v) {
		return nil, at, false
	}
	shape := slices.Clone(v.shape())
	if at, ok = c.spot(shape, before); !ok {
		return nil, at, false
	}
	shape[len(shape)+at.axis] /= c.batch
	shape = slices.Concat([]int{c.batch}, slices.Repeat([]int{1}, axes-len(shape)), shape)
	return c.made(c.b.Reshape(rows, shape...)), at, true
}

// fromRows is the inverse of oneByOne.
func (c *call) fromRows(rows *graph.Node, at spot) value {
	shape := slices.Clone(rows.Shape()[1:])
	if c.batch == 1 {
		return c.byRows(rows, shape, 1)
	}
	axis := len(shape) + at.axis
	before := at.outer * product(shape[:axis])
	shape[axis] *= c.batch
	return c.byRows(rows, shape, before)
}

// turn transposes a value by its rows. It fails for values whose examples it does not find.
func (c *call) turn(v value, perm []int) (y value, ok bool) {
	n := len(perm)
	rows, at, ok := c.oneByOne(v, n)
	if !ok {
		return value{}, false
	}
	to, shape, long := []int{0}, []int{c.batch}, []int{}
	for _, p := range perm {
		to, shape = append(to, p+1), append(shape, rows.Shape()[p+1])
		if rows.Shape()[p+1] > 1 {
			long = append(long, p)
		}
	}
	if slices.IsSorted(long) {
		rows = c.b.Reshape(rows, shape...)
	} else {
		rows = c.b.Transpose(rows, to...)
	}
	at.axis = slices.Index(perm, n+at.axis) - n
	return c.fromRows(c.made(rows), at), true
}

// along applies what works along one axis to the rows. It fails for the axis of the examples.
func (c *call) along(v value, axis int, f func(n *graph.Node, axis int) *graph.Node) (y value, ok bool) {
	n := len(v.shape())
	rows, at, ok := c.oneByOne(v, n)
	if !ok || c.batch > 1 && at.axis == axis-n {
		return value{}, false
	}
	return c.fromRows(f(rows, axis+1), at), true
}

// apart applies an operator to the rows of its inputs, if it treats all examples alike and those of an input are not on axis 0. It
// returns nil otherwise.
func (c *call) apart() []value {
	prepare := alike[c.Op]
	if prepare == nil || !slices.ContainsFunc(c.in, func(v value) bool { return v.rows != nil }) {
		return nil
	}
	axes := 0
	for i := range c.in {
		if c.has(i) {
			axes = max(axes, len(c.in[i].shape()))
		}
	}
	one, at, ok := c.onRows(axes)
	if !ok {
		return nil
	}
	if c.batch == 1 {
		at.axis = -axes - 1 // on no axis of the file
	}
	if at.axis, ok = prepare(c, one, at.axis); !ok {
		return nil
	}
	out, err := one.do()
	for i, v := range must(c, out, err) {
		out[i] = c.fromRows(v.node, at)
	}
	return out
}

// onRows returns the call with rows as inputs, where the inputs depend on the examples. It fails if the examples of two inputs do not
// lie at the same spot.
func (c *call) onRows(axes int) (one *call, at spot, ok bool) {
	own, same := *c, *c.Node
	own.Node, own.in = &same, slices.Clone(c.in)
	found := false
	for i, v := range c.in {
		if !c.has(i) || v.host != nil || v.rows == nil && !v.moved && v.single == nil {
			continue
		}
		rows, s, ok := c.oneByOne(v, axes)
		if !ok || found && c.batch > 1 && s != at {
			return nil, at, false
		}
		own.in[i], at, found = value{node: rows, kind: v.kind, moved: true}, s, true
	}
	return &own, at, true
}
