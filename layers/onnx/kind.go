package onnx

import (
	"slices"

	"github.com/go-valla/valla/internal/raw"
)

// kind is what is known of the elements of a value. A graph computes with floating-point numbers, also where the file has integers:
// these are divided without a rest, and a mask of truths hides what a mask of numbers would be added to. The file's type of an only input
// is not kept.
type kind int

const (
	numeric  kind = iota // floating-point numbers, or not known
	integral             // integers
	logical              // truths, 0 and 1
)

// kindOf returns the kind of a type.
func kindOf(t raw.Type) kind {
	switch {
	case t == raw.Bool:
		return logical
	case t == "" || isFloat(t):
		return numeric
	}
	return integral
}

// known returns the kind of a value.
func (v value) known() kind {
	if v.host != nil && v.host.whole && v.kind == numeric {
		return integral
	}
	return v.kind
}

// unsigned are ONNX's numbers of types that only casts have, since they are read as other integers.
var unsigned = []int{4, 12, 13}

// target returns the kind to which a cast converts.
func (c *call) target() kind {
	to := c.int("to", 1)
	t := types[int64(to)]
	switch {
	case slices.Contains(unsigned, to):
		return integral
	case t == "":
		c.failf("elements of ONNX's type %d, expected floating-point numbers, integers or booleans", to)
	}
	return kindOf(t)
}

// output returns the kind of output i. The operands of arithmetic have one type: what is known of one holds for all.
func (c *call) output(i int) kind {
	switch c.Op {
	case "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor", "Not", "IsNaN", "IsInf":
		return logical
	case "ArgMax", "ArgMin":
		return integral
	case "Cast":
		return c.target()
	case "CastLike":
		return c.among(1, 2)
	case "Constant", "ConstantOfShape":
		if t := c.Attributes["value"].Tensor; t != nil {
			return kindOf(t.Type)
		}
	case "TopK":
		if i == 1 {
			return integral
		}
		return c.among(0, 1)
	case "Where":
		return c.among(1, 3)
	case "OneHot":
		return c.among(2, 3)
	case "Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Sum", "Concat":
		return c.among(0, len(c.in))
	case "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Expand", "Tile", "Slice", "Split", "Gather", "GatherElements",
		"GatherND", "ScatterElements", "ScatterND", "Pad", "Trilu", "Neg", "Abs", "Sign", "Clip", "Pow", "CumSum", "ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd":
		return c.among(0, 1)
	}
	return numeric
}

// among returns the kind of the inputs from number first on, without number end.
func (c *call) among(first, end int) (k kind) {
	for i := first; i < end; i++ {
		if c.has(i) {
			k = max(k, c.in[i].known())
		}
	}
	return k
}
