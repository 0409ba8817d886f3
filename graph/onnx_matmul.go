package graph

import (
	"slices"

	"github.com/go-valla/valla/internal/onnxfile"
	"gorgonia.org/tensor"
)

// matMul writes op(x)·op(y) for matrices, or stacks of matrices that broadcast, where op transposes the last two axes if its flag is set.
func (w *ONNX) matMul(x, y ONNXValue, transX, transY bool) ONNXValue {
	if last := len(x.Shape) - 1; len(y.Shape) == 2 && !transX && last > 1 && joins(x.Shape[:last]) { // the rows of one matrix
		rows := w.Reshape(x, w.product(x.Shape[:last]), x.Shape[last])
		z := w.matMul(rows, y, false, transY)
		return w.Reshape(z, append(slices.Clone(x.Shape[:last]), z.Shape[1])...)
	}
	if len(x.Shape) == 2 && len(y.Shape) == 2 {
		return w.gemm(x, y, transX, transY)
	}
	if transX {
		x = w.swapped(x)
	}
	if transY {
		y = w.swapped(y)
	}
	x, y = w.apart(x), w.apart(y)
	long, short := x.Shape, y.Shape
	if len(long) < len(short) {
		long, short = short, long
	}
	out := slices.Clone(long)
	for d, e := range short {
		if at := d + len(long) - len(short); out[at].one() {
			out[at] = e
		}
	}
	copy(out[len(out)-2:], []Extent{x.Shape[len(x.Shape)-2], y.Shape[len(y.Shape)-1]})
	z := ONNXValue{w.Node("MatMul", nil, x.Name, y.Name), out}
	if w.dt == tensor.Float32 {
		return z
	}
	return ONNXValue{w.Node("Reshape", nil, z.Name, w.shape(out[1:], true)), out[1:]}
}

// gemm writes the product of two matrices.
func (w *ONNX) gemm(x, y ONNXValue, transX, transY bool) ONNXValue {
	var attrs []onnxfile.Attr
	out := []Extent{x.Shape[0], y.Shape[1]}
	if transX {
		attrs, out[0] = attr("transA", 1), x.Shape[1]
	}
	if transY {
		attrs, out[1] = append(attrs, attr("transB", 1)...), y.Shape[0]
	}
	return ONNXValue{w.Node("Gemm", attrs, x.Name, y.Name), out}
}

// joins reports whether axes can be one, at most one of which may be free.
func joins(s []Extent) bool {
	free := slices.DeleteFunc(slices.Clone(s), func(e Extent) bool { return !e.free() })
	return len(free) <= 1
}

// apart puts a node between an operand of a MatMul in float64 and what is before. ONNX Runtime makes a factor before or behind MatMul, but
// not Gemm, a setting of that product, which is a number of float32. It joins a transpose before MatMul to an operator that version 1.23
// has for float32 alone.
func (w *ONNX) apart(x ONNXValue) ONNXValue {
	if w.dt == tensor.Float32 {
		return x
	}
	to := append(extents(1), x.Shape...)
	return ONNXValue{w.Node("Reshape", nil, x.Name, w.shape(to, true)), to}
}
