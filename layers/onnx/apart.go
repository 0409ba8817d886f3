package onnx

import (
	"fmt"
	"slices"
	"strings"
)

// The predictions of a network are those of each example alone: derivatives by rows and posteriors need this. An operator that joins
// elements along the axis of the examples, such as a Softmax along axis 0, breaks it. The axes of the examples are those whose extents
// change with the number of examples.

// apart returns an error for a node along whose axes the extents are others than those for another number of examples.
func (g Graph) apart(in []int, extents map[int][]int) error {
	const other = 11 // examples, beside the 3 of settle: an extent that is 3 and then 11 is that of the examples
	var mixed error
	_, err := g.dry(other, in, func(i int, c *call, _ []value) {
		if mixed == nil && !slices.Equal(extents[i], c.joinedExtents()) {
			mixed = fmt.Errorf("%s: it joins elements of different examples, expected that no prediction depends on the rows beside it", g.at(i))
		}
	})
	if mixed == nil && err != nil {
		return fmt.Errorf("for %d examples, while it works for a few: %w", other, err)
	}
	return mixed
}

// joinedExtents returns the extents of the axes of the first input along which the operator joins elements.
func (c *call) joinedExtents() (extents []int) {
	if len(c.in) == 0 || !c.has(0) || c.in[0].node == nil {
		return nil
	}
	shape := c.in[0].shape()
	for _, axis := range c.joinedAxes(len(shape)) {
		extents = append(extents, shape[axis])
	}
	return extents
}

// joinedAxes returns the axes of n of the first input along which the operator joins elements.
func (c *call) joinedAxes(n int) []int {
	one := func(axis int) []int { return []int{c.axis(axis, n)} }
	switch c.Op {
	case "Softmax", "LogSoftmax", "Hardmax":
		if c.opset < 13 {
			return c.axes(nil, n)[c.axis(c.int("axis", 1), n):]
		}
		return one(c.int("axis", -1))
	case "LayerNormalization", "RMSNormalization":
		return c.axes(nil, n)[c.axis(c.int("axis", -1), n):]
	case "LpNormalization", "TopK":
		return one(c.int("axis", -1))
	case "ArgMax", "ArgMin":
		return one(c.int("axis", 0))
	case "CumSum":
		return one(int(c.number(1, "an axis")))
	case "MatMul":
		return one(-1)
	case "Gemm":
		if c.int("transA", 0) != 0 {
			return one(0)
		}
		return one(1)
	}
	if strings.HasPrefix(c.Op, "Reduce") {
		return c.reduction()
	}
	return nil
}
