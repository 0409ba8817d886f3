package graph

import (
	"slices"

	"github.com/go-valla/valla/internal/onnxfile"
	"gorgonia.org/tensor"
)

// pixel returns the pixel under element tap of a filter at a place; the number of pixels if that is outside of the image.
func (c groupConv) pixel(tap, spot int) int {
	y := spot/c.places[1]*c.Stride[0] + tap/c.filter[1]*c.Dilation[0] - c.Before[0]
	x := spot%c.places[1]*c.Stride[1] + tap%c.filter[1]*c.Dilation[1] - c.Before[1]
	if y < 0 || y >= c.height || x < 0 || x >= c.width {
		return c.height * c.width
	}
	return y*c.width + x
}

// patches returns the patches [N,In·taps,spots] of images x [N,In,Height,Width].
func (c groupConv) patches(w *ONNX, x ONNXValue) ONNXValue {
	n, pixels, taps, spots := x.Shape[0], c.height*c.width, c.area(), c.spots()
	at := make([]int, taps*spots)
	for i := range at {
		at[i] = c.pixel(i/spots, i%spots)
	}
	x = w.Reshape(x, n, Extent{Fixed: c.in}, Extent{Fixed: pixels})
	y := w.Node("Gather", attr("axis", 2), w.padded(x, 2, 0, 1), w.places(at, taps*spots))
	return w.Reshape(ONNXValue{y, []Extent{n, {Fixed: c.in}, {Fixed: taps * spots}}}, n, Extent{Fixed: c.in * taps}, Extent{Fixed: spots})
}

// fold adds patches y [N,In·taps,spots] up where they were: [N,In,Height,Width].
func (c groupConv) fold(w *ONNX, y ONNXValue) ONNXValue {
	n, pixels, taps, spots := y.Shape[0], c.height*c.width, c.area(), c.spots()
	at := slices.Repeat([]int{taps * spots}, taps*pixels) // the zero behind the elements
	for i := range taps * spots {
		if k := c.pixel(i/spots, i%spots); k < pixels {
			at[i/spots*pixels+k] = i
		}
	}
	y = w.Reshape(y, n, Extent{Fixed: c.in}, Extent{Fixed: taps * spots})
	x := ONNXValue{w.Node("Gather", attr("axis", 2), w.padded(y, 2, 0, 1), w.places(at, taps*pixels)), []Extent{n, {Fixed: c.in}, {Fixed: taps * pixels}}}
	x = w.sum(w.Reshape(x, n, Extent{Fixed: c.in}, Extent{Fixed: taps}, Extent{Fixed: pixels}), 2)
	return w.Reshape(x, n, Extent{Fixed: c.in}, Extent{Fixed: c.height}, Extent{Fixed: c.width})
}

// ONNX implements ONNXForm.
func (r unfold) ONNX(w *ONNX, in []ONNXValue, _ []Extent) string {
	c := general(plainConv{r.Conv})
	if r.fold {
		return c.fold(w, in[0]).Name
	}
	return c.patches(w, in[0]).Name
}

// ONNX implements ONNXForm. In float32 the convolution is an operator of ONNX, and its transpose as well. Otherwise both, and the
// derivative by the filters, are products of matrices with the patches of the images.
func (r conv) ONNX(w *ONNX, in []ONNXValue, out []Extent) string {
	if c, ok := r.convolution.(plainConv); ok && c.ChannelsLast && r.part != filters {
		return w.Failf("filters with the channels last")
	}
	c := general(r.convolution)
	switch {
	case r.part == filters:
		return r.filterONNX(w, c, in, out)
	case r.stacked:
		return w.Failf("a convolution with filters of each example")
	case w.dt == tensor.Float32:
		return c.operator(w, r.part, in, out)
	}
	return c.product(w, r.part, in, out)
}

// operator writes the convolution as an operator of ONNX.
func (c groupConv) operator(w *ONNX, of part, in []ONNXValue, out []Extent) string {
	after, extra := [2]int{}, [2]int{}
	for d, full := range [2]int{c.height, c.width} {
		reach := (c.places[d]-1)*c.Stride[d] + c.Dilation[d]*(c.filter[d]-1) + 1
		after[d] = max(0, reach-full-c.Before[d])
		extra[d] = max(0, full+c.Before[d]-reach)
	}
	attrs := []onnxfile.Attr{{Name: "dilations", Value: c.Dilation[:]}, {Name: "group", Value: c.Groups}, {Name: "kernel_shape", Value: c.filter[:]}}
	if of == images {
		attrs = append(attrs, onnxfile.Attr{Name: "output_padding", Value: extra[:]})
	}
	attrs = append(attrs, onnxfile.Attr{Name: "pads", Value: []int{c.Before[0], c.Before[1], after[0], after[1]}}, onnxfile.Attr{Name: "strides", Value: c.Stride[:]})
	if of == images {
		return w.Node("ConvTranspose", attrs, in[0].Name, in[1].Name)
	}
	return w.Node("Conv", attrs, in[0].Name, in[1].Name)
}

// product writes the convolution as a product of matrices, one for each group.
func (c groupConv) product(w *ONNX, of part, in []ONNXValue, out []Extent) string {
	n, taps, spots := in[0].Shape[0], c.taps(), c.spots()
	g := Extent{Fixed: c.Groups}
	filters := w.Reshape(in[1], g, Extent{Fixed: c.out / c.Groups}, Extent{Fixed: taps})
	if of == images {
		y := w.Reshape(in[0], n, g, Extent{Fixed: c.out / c.Groups}, Extent{Fixed: spots})
		x := w.matMul(filters, y, true, false)
		return c.fold(w, w.Reshape(x, n, Extent{Fixed: c.Groups * taps}, Extent{Fixed: spots})).Name
	}
	x := w.Reshape(c.patches(w, in[0]), n, g, Extent{Fixed: taps}, Extent{Fixed: spots})
	return w.Reshape(w.matMul(filters, x, false, false), out...).Name
}

// filterONNX writes the derivative by the filters: products of the patches of images with results, one for each term, or their sum.
func (r conv) filterONNX(w *ONNX, c groupConv, in []ONNXValue, out []Extent) string {
	outs, taps := c.out/c.Groups, c.taps()
	g, spots := Extent{Fixed: c.Groups}, Extent{Fixed: c.spots()}
	x := c.patches(w, in[0])
	images, terms := in[0].Shape[0], in[1].Shape[0]
	if r.rows.Y%r.rows.X != 0 {
		return w.Failf("a convolution of several images for each result")
	}
	per := Extent{Fixed: r.rows.Y / r.rows.X}
	x = w.Reshape(x, images, Extent{Fixed: 1}, g, Extent{Fixed: taps}, spots)
	y := w.Reshape(in[1], images, per, g, Extent{Fixed: outs}, spots)
	z := w.matMul(y, x, false, true)
	if plain, ok := r.convolution.(plainConv); ok && plain.ChannelsLast {
		z = w.Reshape(z, terms, Extent{Fixed: outs}, Extent{Fixed: c.in}, Extent{Fixed: c.area()})
		z = w.Transpose(z, 0, 1, 3, 2)
	}
	if r.stacked {
		return w.Reshape(z, out...).Name
	}
	flat := w.Reshape(z, terms, w.product(out))
	return w.Reshape(w.sum(flat, 0), out...).Name
}
