package graph

import "slices"

// ONNX implements ONNXForm: a product element by element and a sum where no array is larger than an operand, or else products
// of matrices.
func (contract) ONNX(w *ONNX, in []ONNXValue, out []Extent) string {
	n := max(len(in[0].Shape), len(in[1].Shape), len(out))
	lead := func(s []Extent) []Extent { return append(extents(slices.Repeat([]int{1}, n-len(s))...), s...) }
	c := &contraction{x: [2]ONNXValue{w.Reshape(in[0], lead(in[0].Shape)...), w.Reshape(in[1], lead(in[1].Shape)...)}}
	c.sort(w, lead(out))
	if len(c.own[0]) == 0 || len(c.own[1]) == 0 {
		return c.elementwise(w, out)
	}
	return c.matrices(w, lead(out), out)
}

// contraction is a sum of a product, whose operands have as many axes.
type contraction struct {
	x      [2]ONNXValue
	common []int    // axes of both that are kept
	own    [2][]int // axes of one that are kept
	summed []int    // axes of both that are summed
}

// sort finds the axes of each kind. It sums an operand along the axes of the operand alone that are summed.
func (c *contraction) sort(w *ONNX, to []Extent) {
	for d := range to {
		a, b, kept := !c.x[0].Shape[d].one(), !c.x[1].Shape[d].one(), !to[d].one()
		switch {
		case a && b && kept:
			c.common = append(c.common, d)
		case a && b:
			c.summed = append(c.summed, d)
		case a && kept:
			c.own[0] = append(c.own[0], d)
		case b && kept:
			c.own[1] = append(c.own[1], d)
		case a:
			c.x[0] = w.sum(c.x[0], d)
		case b:
			c.x[1] = w.sum(c.x[1], d)
		}
	}
}

func (c *contraction) elementwise(w *ONNX, out []Extent) string {
	full := slices.Clone(c.x[0].Shape)
	for d, e := range c.x[1].Shape {
		if full[d].one() {
			full[d] = e
		}
	}
	y := ONNXValue{w.Node("Mul", nil, c.x[0].Name, c.x[1].Name), full}
	return w.Reshape(w.sum(y, c.summed...), out...).Name
}

// matrices multiplies [common, own, summed] by [common, summed, own], without the first axis if nothing is common.
func (c *contraction) matrices(w *ONNX, to, out []Extent) string {
	side := func(i int, groups ...[]int) ONNXValue {
		var perm []int
		var shape []Extent
		for _, group := range groups {
			perm = append(perm, group...)
			shape = append(shape, w.product(pickExtents(c.x[i].Shape, group)))
		}
		for d := range to {
			if !slices.Contains(perm, d) {
				perm = append(perm, d)
			}
		}
		return w.Reshape(w.Transpose(c.x[i], perm...), shape...)
	}
	var stack [][]int
	if len(c.common) > 0 {
		stack = [][]int{c.common}
	}
	x, y := side(0, append(stack, c.own[0], c.summed)...), side(1, append(stack, c.summed, c.own[1])...)
	z := w.matMul(x, y, false, false)
	order := slices.Concat(c.common, c.own[0], c.own[1])
	for d := range to {
		if !slices.Contains(order, d) {
			order = append(order, d)
		}
	}
	z = w.Reshape(z, pickExtents(to, order)...)
	back := make([]int, len(order))
	for k, d := range order {
		back[d] = k
	}
	return w.Reshape(w.Transpose(z, back...), out...).Name
}

func pickExtents(s []Extent, axes []int) []Extent {
	out := make([]Extent, len(axes))
	for k, d := range axes {
		out[k] = s[d]
	}
	return out
}
