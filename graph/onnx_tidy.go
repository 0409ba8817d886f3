package graph

import (
	"cmp"
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
	to, ok := alike(in, sources, out)
	if !ok {
		return w.withoutOnes(in, sources, out)
	}
	for i, x := range in {
		if in[i] = sources[i]; ones(x.Shape) {
			in[i] = w.Reshape(x, extents(slices.Repeat([]int{1}, min(len(x.Shape), len(to)))...)...)
		}
	}
	return to, true
}

// ones reports whether an array is one number for any number of examples.
func ones(s []Extent) bool { return !slices.ContainsFunc(s, func(e Extent) bool { return !e.one() }) }

// alike: operands with all axes of the result, which are reshapes from one shape, and single numbers.
func alike(in, sources []ONNXValue, out []Extent) (to []Extent, ok bool) {
	for i, x := range in {
		switch {
		case ones(x.Shape):
		case !slices.Equal(x.Shape, out) || to != nil && !slices.Equal(sources[i].Shape, to):
			return nil, false
		default:
			to = sources[i].Shape
		}
	}
	return to, to != nil
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

// tidy makes the model shorter.
func (w *ONNX) tidy() {
	w.prune()
	w.bias()
	w.prune()
	w.adopt()
}

// bias adds constants to products of matrices within the operator Gemm.
func (w *ONNX) bias() {
	m, uses, shapes, by := w.model, map[string]int{}, map[string][]int{}, map[string]onnxfile.Node{}
	for _, n := range m.Nodes {
		for _, in := range n.Inputs {
			uses[in]++
		}
	}
	for _, a := range m.Arrays {
		shapes[a.Name] = a.Shape
	}
	for i, n := range m.Nodes {
		for k := 0; n.Op == "Add" && k < 2; k++ {
			g, c := by[n.Inputs[k]], n.Inputs[1-k]
			if shape, ok := shapes[c]; ok && g.Op == "Gemm" && len(g.Inputs) == 2 && uses[n.Inputs[k]] == 1 && fits(shape, g, shapes) {
				m.Nodes[i] = onnxfile.Node{Op: "Gemm", Attrs: g.Attrs, Inputs: []string{g.Inputs[0], g.Inputs[1], c}, Outputs: n.Outputs}
				break
			}
		}
		by[n.Outputs[0]] = m.Nodes[i]
	}
}

// fits reports whether a constant of some shape is a number, or a row as long as those of a product with a constant matrix.
func fits(shape []int, product onnxfile.Node, shapes map[string][]int) bool {
	if size(shape) == 1 {
		return len(shape) <= 2
	}
	matrix, ok := shapes[product.Inputs[1]]
	if !ok || len(shape) != 1 {
		return false
	}
	across := slices.ContainsFunc(product.Attrs, func(a onnxfile.Attr) bool { return a.Name == "transB" })
	return shape[0] == matrix[1] && !across || shape[0] == matrix[0] && across
}

// adopt gives values that are outputs the names of these, in place of nodes that copy them. A value has the name of its first output.
func (w *ONNX) adopt() {
	m, names := w.model, map[string]string{}
	var nodes []onnxfile.Node
	for _, n := range m.Nodes {
		if n.Op == "Identity" && names[n.Inputs[0]] == n.Inputs[0] {
			names[n.Inputs[0]] = n.Outputs[0]
			continue
		}
		for _, name := range n.Outputs {
			names[name] = name
		}
		nodes = append(nodes, n)
	}
	named := func(all []string) []string {
		all = slices.Clone(all)
		for i, name := range all {
			all[i] = cmp.Or(names[name], name)
		}
		return all
	}
	for i, n := range nodes {
		nodes[i].Inputs, nodes[i].Outputs = named(n.Inputs), named(n.Outputs)
	}
	m.Nodes = nodes
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
