package graph

import (
	"slices"

	"github.com/go-valla/valla/internal/onnxfile"
)

// elementwise writes a function of elements, whose operands are broadcast. Operands that are reshapes are taken before they are
// reshaped, and the result is reshaped, if that is the same: most reshapes of a computation then follow each other and become one.
func (w *ONNX) elementwise(in []ONNXValue, out []Extent, write func(in ...string) string) string {
	in = slices.Clone(in)
	to, ok := w.unreshaped(in, out)
	names := make([]string, len(in))
	for i, x := range in {
		names[i] = x.Name
	}
	y := write(names...)
	if !ok {
		return y
	}
	return w.Reshape(ONNXValue{y, to}, out...).Name
}

// unreshaped replaces operands by what they were reshaped from, and returns the shape of the result; false if the result would differ.
func (w *ONNX) unreshaped(in []ONNXValue, out []Extent) ([]Extent, bool) {
	sources, any := slices.Clone(in), false
	for i, x := range in {
		if from, ok := w.reshaped[x.Name]; ok {
			sources[i], any = from, true
		}
	}
	if !any {
		return nil, false
	}
	if to, ok := alike(in, sources, out); ok {
		copy(in, sources)
		return to, true
	}
	return w.withoutOnes(in, sources, out)
}

// alike: operands with all axes of the result, which are reshapes from one shape.
func alike(in, sources []ONNXValue, out []Extent) (to []Extent, ok bool) {
	for i, x := range in {
		switch {
		case len(x.Shape) == 0:
		case !slices.Equal(x.Shape, out) || to != nil && !slices.Equal(sources[i].Shape, to):
			return nil, false
		default:
			to = sources[i].Shape
		}
	}
	return to, true
}

// withoutOnes: reshapes that only added axes of extent 1 at the same places. Constants lose these axes.
func (w *ONNX) withoutOnes(in, sources []ONNXValue, out []Extent) ([]Extent, bool) {
	var kept []int
	for d, e := range out {
		if !e.one() || slices.ContainsFunc(in, func(x ONNXValue) bool { return len(x.Shape) == len(out) && !x.Shape[d].one() }) {
			kept = append(kept, d)
		}
	}
	for i, x := range in {
		switch {
		case len(x.Shape) == 0:
		case len(x.Shape) != len(out):
			return nil, false
		case w.constant[x.Name]:
			sources[i] = w.Reshape(x, pickExtents(x.Shape, kept)...)
		case !slices.Equal(sources[i].Shape, pickExtents(x.Shape, kept)):
			return nil, false
		}
	}
	copy(in, sources)
	return pickExtents(out, kept), true
}

// prune takes away the nodes and arrays that no output needs.
func (w *ONNX) prune() {
	m, needed := w.model, map[string]bool{}
	for _, v := range m.Outputs {
		needed[v.Name] = true
	}
	var nodes []onnxfile.Node
	for _, n := range slices.Backward(m.Nodes) {
		if slices.ContainsFunc(n.Outputs, func(name string) bool { return needed[name] }) {
			nodes = append(nodes, n)
			for _, in := range n.Inputs {
				needed[in] = true
			}
		}
	}
	slices.Reverse(nodes)
	m.Nodes = nodes
	m.Arrays = slices.DeleteFunc(m.Arrays, func(a onnxfile.Array) bool { return !needed[a.Name] })
}
