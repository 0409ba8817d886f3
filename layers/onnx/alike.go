package onnx

import (
	"maps"
	"slices"
)

// alike are the operators that treat all examples alike. Each function prepares the call one, which has the rows of the inputs of c
// as inputs, for examples on an axis, counted from the end. It returns their axis in the output, counted from the end as well. ok is
// false if the operator would mix the examples.
var alike = map[string]func(c, one *call, axis int) (to int, ok bool){}

func init() {
	for _, op := range []string{
		"Relu", "Tanh", "Sigmoid", "Softplus", "Erf", "Exp", "Log", "Sqrt", "Sin", "Cos", "Neg", "Abs", "Reciprocal",
		"Gelu", "LeakyRelu", "Elu", "Celu", "Selu", "PRelu", "HardSigmoid", "Clip", "Swish", "Mish", "HardSwish", "Softsign",
		"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Sum", "Where", "Cast",
		"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor", "Not",
	} {
		alike[op] = elementsAlike
	}
	for _, op := range []string{"ReduceMean", "ReduceSum", "ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceMax", "ReduceMin"} {
		alike[op] = reductionAlike
	}
	alike["Softmax"], alike["LogSoftmax"] = softmaxAlike, softmaxAlike
	alike["LayerNormalization"] = func(c, one *call, axis int) (int, bool) { return axis, axis < one.fromEnd(c, -1) }
	alike["Concat"] = func(c, one *call, axis int) (int, bool) {
		return axis, axis != one.fromEnd(c, 0) && !slices.ContainsFunc(one.in, func(v value) bool { return !v.moved })
	}
	alike["MatMul"], alike["Gemm"] = matMulAlike, gemmAlike
}

// fromEnd sets the attribute axis to that of c, counted from the end, and returns it.
func (one *call) fromEnd(c *call, standard int) int {
	n := len(c.value(0).shape())
	axis := c.axis(c.int("axis", standard), n) - n
	one.set("axis", Attribute{Int: int64(axis)})
	return axis
}

// set sets an attribute.
func (c *call) set(name string, a Attribute) {
	own := map[string]Attribute{name: a}
	for key, old := range maps.All(c.Attributes) {
		if key != name {
			own[key] = old
		}
	}
	c.Attributes = own
}

// once returns a value with extent 1 along an axis, counted from the end, if it is the same all along this axis: exporters repeat
// constants, such as the zeros of a mask.
func (c *call) once(v value, axis int) (value, bool) {
	s := v.shape()
	d := len(s) + axis
	switch {
	case d < 0 || s[d] == 1:
		return v, true
	case v.host == nil:
		return v, false
	}
	first := c.try(v.host.gathered(d, []int{0}))
	return value{host: first, kind: v.kind}, slices.Equal(c.try(first.expanded(s)).v, v.host.v)
}

func elementsAlike(c, one *call, axis int) (int, bool) {
	for i, v := range one.in {
		if !c.has(i) || v.moved {
			continue
		}
		var ok bool
		if one.in[i], ok = c.once(v, axis); !ok {
			return 0, false
		}
	}
	return axis, true
}

func reductionAlike(c, one *call, axis int) (int, bool) {
	axes, n, to := c.reduction(), len(c.value(0).shape()), axis
	for i, a := range axes {
		axes[i] = a - n
		if axes[i] > axis && c.int("keepdims", 1) == 0 {
			to++
		}
	}
	if c.has(1) {
		one.in[1] = value{host: integers(axes)}
	} else {
		list := make([]int64, len(axes))
		for i, a := range axes {
			list[i] = int64(a)
		}
		one.set("axes", Attribute{Ints: list})
	}
	return to, !slices.Contains(axes, axis)
}

// softmaxAlike: up to opset 12 a softmax is along all axes from one on.
func softmaxAlike(c, one *call, axis int) (int, bool) {
	if c.opset < 13 {
		return axis, axis < one.fromEnd(c, 1)
	}
	return axis, axis != one.fromEnd(c, -1)
}

// matMulAlike: a product with a matrix, or of the matrices of two stacks.
func matMulAlike(c, one *call, axis int) (int, bool) {
	x, y := len(c.value(0).shape()), len(c.value(1).shape())
	if one.in[1].moved {
		return axis, one.in[0].moved && axis < -2 && min(x, y) > 1
	}
	return axis, axis < -1 && x > 1 && y == 2
}

func gemmAlike(c, one *call, axis int) (int, bool) {
	bias := true
	if c.has(2) && !one.in[2].moved {
		one.in[2], bias = c.once(one.in[2], axis)
	}
	return axis, bias && axis < -1 && c.int("transA", 0) == 0 && !one.in[1].moved
}
