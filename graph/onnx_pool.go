package graph

import (
	"slices"

	"github.com/go-valla/valla/internal/onnxfile"
)

// settings returns the settings of an operator with these windows.
func (p pool) settings() []onnxfile.Attr {
	return []onnxfile.Attr{{Name: "kernel_shape", Value: p.size[:]}, {Name: "strides", Value: p.stride[:]}}
}

// plan returns the windows in one image of some size as patches of a convolution.
func (p pool) plan(channels, height, width int) groupConv {
	places := [2]int{(height-p.size[0])/p.stride[0] + 1, (width-p.size[1])/p.stride[1] + 1}
	return groupConv{ConvOptions: ConvOptions{Stride: p.stride}.complete(), in: channels, height: height, width: width, filter: p.size, places: places}
}

// ONNX implements ONNXForm. The element that is taken from another array, or put there, is the first largest of its window: the mask of
// a window is 1 at that element.
func (r maxPool) ONNX(w *ONNX, in []ONNXValue, out []Extent) string {
	x, y := in[0], in[1]
	if x.Name == y.Name && !r.scatter {
		return w.Node("MaxPool", r.settings(), x.Name)
	}
	image := w.fixed(x.Shape[1:]...)
	if w.err != nil {
		return ""
	}
	p := r.plan(image[0], image[1], image[2])
	windows := []Extent{x.Shape[0], {Fixed: p.in}, {Fixed: p.area()}, {Fixed: p.spots()}}
	mask := w.firstLargest(w.Reshape(p.patches(w, x), windows...))
	if !r.scatter {
		taken := w.Node("Mul", nil, mask.Name, w.Reshape(p.patches(w, y), windows...).Name)
		return w.Reshape(w.sum(ONNXValue{taken, windows}, 2), out...).Name
	}
	small := slices.Clone(windows)
	small[2] = Extent{Fixed: 1}
	spread := ONNXValue{w.Node("Mul", nil, mask.Name, w.Reshape(y, small...).Name), windows}
	return p.fold(w, w.Reshape(spread, windows[0], Extent{Fixed: p.in * p.area()}, windows[3])).Name
}

// firstLargest returns 1 at the first largest element along axis 2 of x [·,·,T,·], and 0 elsewhere: an element that equals the
// maximum, and before which the number of such elements, a product with a triangle of ones, is 0.
func (w *ONNX) firstLargest(x ONNXValue) ONNXValue {
	taps := w.fixed(x.Shape[2])[0]
	top := w.Node("ReduceMax", append(attr("axes", []int{2}), attr("keepdims", 1)...), x.Name)
	below := stepONNX(w, w.Node("Sub", nil, top, x.Name))
	largest := affineONNX(-1, 1)(w, below)
	triangle := make([]float64, taps*taps)
	for i := range taps {
		for j := range i {
			triangle[i*taps+j] = 1
		}
	}
	before := w.matMul(ONNXValue{w.Array(triangle, taps, taps), extents(taps, taps)}, ONNXValue{largest, x.Shape}, false, false)
	return ONNXValue{w.Node("Mul", nil, largest, affineONNX(-1, 1)(w, stepONNX(w, before.Name))), x.Shape}
}

// ONNX implements ONNXForm.
func (r averagePool) ONNX(w *ONNX, in []ONNXValue, out []Extent) string {
	channels := w.fixed(in[0].Shape[1])[0]
	p := r.plan(channels, r.height, r.width)
	windows := []Extent{in[0].Shape[0], {Fixed: channels}, {Fixed: p.area()}, {Fixed: p.spots()}}
	small := slices.Clone(windows)
	small[2] = Extent{Fixed: 1}
	mean := affineONNX(1/float64(p.area()), 0)
	if !r.spread {
		y := w.sum(w.Reshape(p.patches(w, in[0]), windows...), 2)
		return w.Reshape(ONNXValue{mean(w, y.Name), small}, out...).Name
	}
	y := w.Expand(ONNXValue{mean(w, w.Reshape(in[0], small...).Name), small}, windows...)
	return p.fold(w, w.Reshape(y, windows[0], Extent{Fixed: channels * p.area()}, windows[3])).Name
}
