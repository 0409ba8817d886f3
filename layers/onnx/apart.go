package onnx

import "fmt"

// The predictions of a network are those of each example alone: derivatives by rows and posteriors need this. Two things break it: a
// value that has not as many elements for each example, such as a mean of all examples or a part of them, and an operator that joins or
// moves elements along the axis of the examples, such as a Softmax along axis 0. The axes of the examples are those whose extents
// change with the number of examples.

// spread is how a node depends on the number of examples.
type spread struct {
	joined []int // extents of the axes of the first input along which the operator joins or moves elements
	sizes  []int // of the outputs that depend on the inputs
}

// spreadOf returns how a call depends on the number of examples.
func spreadOf(c *call, out []value) (s spread) {
	if len(c.in) > 0 && c.has(0) && c.in[0].moved {
		shape := c.in[0].shape()
		for _, axis := range c.joinedAxes(len(shape)) {
			s.joined = append(s.joined, shape[axis])
		}
	}
	for _, v := range out {
		if v.moved {
			s.sizes = append(s.sizes, v.node.Shape().TotalSize())
		}
	}
	return s
}

// apart reports whether a node that depends on a number of examples as s, and on another one as t, keeps them apart.
func (s spread) apart(t spread, examples, others int) bool {
	for i, n := range s.joined {
		if n != t.joined[i] {
			return false
		}
	}
	for i, n := range s.sizes {
		if n*others != t.sizes[i]*examples {
			return false
		}
	}
	return true
}

// apart returns an error for a node that does not keep examples apart, by how all nodes depend on a number of examples.
func (g Graph) apart(in []int, examples int, spreads map[int]spread) error {
	const others = 11 // an extent that is 3 and then 11 is that of the examples
	var mixed error
	_, err := g.dry(others, in, func(i int, c *call, out []value) {
		if mixed == nil && !spreads[i].apart(spreadOf(c, out), examples, others) {
			mixed = fmt.Errorf("%s: it joins elements of different examples, expected that no prediction depends on the rows beside it", g.at(i))
		}
	})
	if mixed == nil && err != nil {
		return fmt.Errorf("for %d examples, while it works for a few: %w", others, err)
	}
	return mixed
}

// joinedAxes returns the axes of n of the first input along which the operator joins or moves elements and leaves as many as there are.
func (c *call) joinedAxes(n int) (backwards []int) {
	one := func(axis int) []int { return []int{c.axis(axis, n)} }
	switch c.Op {
	case "Softmax", "LogSoftmax", "Hardmax":
		if c.opset < 13 {
			return c.axes(nil, n)[c.axis(c.int("axis", 1), n):]
		}
		return one(c.int("axis", -1))
	case "LayerNormalization", "RMSNormalization":
		return c.axes(nil, n)[c.axis(c.int("axis", -1), n):]
	case "LpNormalization":
		return one(c.int("axis", -1))
	case "CumSum":
		return one(int(c.number(1, "an axis")))
	case "MatMul":
		return one(-1)
	case "Slice":
		axes := c.optional(3, c.axes(nil, n))
		for i, step := range c.optional(4, nil) {
			if step < 0 {
				backwards = append(backwards, c.axis(axes[i], n))
			}
		}
		return backwards
	}
	return nil
}
