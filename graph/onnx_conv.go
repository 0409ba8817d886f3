package graph

import (
	"slices"

	"github.com/go-valla/valla/internal/onnxfile"
	"gorgonia.org/tensor"
)

// patchPlan says which pixel of an image each element of a filter covers at each place.
type patchPlan struct {
	in, height, width int    // channels, rows and columns of an image
	filter, places    [2]int // rows and columns of a filter and of a result
	stride, dilation  [2]int // for rows and columns
	before            [2]int // zeros around the image
}

func (p patchPlan) taps() int  { return p.filter[0] * p.filter[1] }
func (p patchPlan) spots() int { return p.places[0] * p.places[1] }

// pixel returns the pixel under element tap of a filter at a place; the number of pixels if that is outside of the image.
func (p patchPlan) pixel(tap, spot int) int {
	y := spot/p.places[1]*p.stride[0] + tap/p.filter[1]*p.dilation[0] - p.before[0]
	x := spot%p.places[1]*p.stride[1] + tap%p.filter[1]*p.dilation[1] - p.before[1]
	if y < 0 || y >= p.height || x < 0 || x >= p.width {
		return p.height * p.width
	}
	return y*p.width + x
}

// patches returns the patches [N,In·taps,spots] of images x [N,In,Height,Width].
func (p patchPlan) patches(w *ONNX, x ONNXValue) ONNXValue {
	n, pixels, taps, spots := x.Shape[0], p.height*p.width, p.taps(), p.spots()
	at := make([]int, taps*spots)
	for i := range at {
		at[i] = p.pixel(i/spots, i%spots)
	}
	x = w.Reshape(x, n, Extent{Fixed: p.in}, Extent{Fixed: pixels})
	y := w.Node("Gather", attr("axis", 2), w.padded(x, 2, 0, 1), w.places(at, taps*spots))
	return w.Reshape(ONNXValue{y, []Extent{n, {Fixed: p.in}, {Fixed: taps * spots}}}, n, Extent{Fixed: p.in * taps}, Extent{Fixed: spots})
}

// fold adds patches y [N,In·taps,spots] up where they were: [N,In,Height,Width].
func (p patchPlan) fold(w *ONNX, y ONNXValue) ONNXValue {
	n, pixels, taps, spots := y.Shape[0], p.height*p.width, p.taps(), p.spots()
	at := slices.Repeat([]int{taps * spots}, taps*pixels) // the zero behind the elements
	for i := range taps * spots {
		if k := p.pixel(i/spots, i%spots); k < pixels {
			at[i/spots*pixels+k] = i
		}
	}
	y = w.Reshape(y, n, Extent{Fixed: p.in}, Extent{Fixed: taps * spots})
	x := ONNXValue{w.Node("Gather", attr("axis", 2), w.padded(y, 2, 0, 1), w.places(at, taps*pixels)), []Extent{n, {Fixed: p.in}, {Fixed: taps * pixels}}}
	x = w.sum(w.Reshape(x, n, Extent{Fixed: p.in}, Extent{Fixed: taps}, Extent{Fixed: pixels}), 2)
	return w.Reshape(x, n, Extent{Fixed: p.in}, Extent{Fixed: p.height}, Extent{Fixed: p.width})
}

// ONNX implements ONNXForm.
func (r unfold) ONNX(w *ONNX, in []ONNXValue, _ []Extent) string {
	if r.fold {
		return planOf(r.Conv.In, plainConv{r.Conv}).fold(w, in[0]).Name
	}
	return planOf(r.Conv.In, plainConv{r.Conv}).patches(w, in[0]).Name
}

// planOf returns the plan of a convolution whose images have some channels.
func planOf(channels int, c convolution) patchPlan {
	p := patchPlan{in: channels, stride: [2]int{1, 1}, dilation: [2]int{1, 1}}
	image, filter, result := c.shape(images), c.shape(filters), c.shape(results)
	p.height, p.width, p.filter, p.places = image[1], image[2], [2]int(filter[2:]), [2]int(result[1:])
	switch c := c.(type) {
	case plainConv:
		p.filter = [2]int{c.KernelHeight, c.KernelWidth}
		p.stride, p.before = [2]int{c.Stride, c.Stride}, [2]int{c.Padding, c.Padding}
	case groupConv:
		p.stride, p.dilation, p.before = c.Stride, c.Dilation, c.Before
	}
	return p
}

// ONNX implements ONNXForm. In float32 the convolution is an operator of ONNX, and its transpose as well. Otherwise both, and the
// derivative by the filters, are products of matrices with the patches of the images.
func (r conv) ONNX(w *ONNX, in []ONNXValue, out []Extent) string {
	groups, plain := 1, r.convolution
	switch c := plain.(type) {
	case groupConv:
		groups = c.Groups
	case plainConv:
		if c.ChannelsLast && r.part != filters {
			return w.Failf("filters with the channels last")
		}
	}
	p := planOf(r.shape(images)[0], plain)
	switch {
	case r.part == filters:
		return r.filterONNX(w, p, groups, in, out)
	case r.stacked:
		return w.Failf("a convolution with filters of each example")
	case w.dt == tensor.Float32:
		return p.operator(w, r.part, groups, in, out)
	}
	return p.product(w, r.part, groups, r.shape(results)[0], in, out)
}

// operator writes the convolution as an operator of ONNX.
func (p patchPlan) operator(w *ONNX, of part, groups int, in []ONNXValue, out []Extent) string {
	after, extra := [2]int{}, [2]int{}
	for d, full := range [2]int{p.height, p.width} {
		reach := (p.places[d]-1)*p.stride[d] + p.dilation[d]*(p.filter[d]-1) + 1
		after[d] = max(0, reach-full-p.before[d])
		extra[d] = max(0, full+p.before[d]-reach)
	}
	attrs := []onnxfile.Attr{{Name: "dilations", Value: p.dilation[:]}, {Name: "group", Value: groups}, {Name: "kernel_shape", Value: p.filter[:]}}
	if of == images {
		attrs = append(attrs, onnxfile.Attr{Name: "output_padding", Value: extra[:]})
	}
	attrs = append(attrs, onnxfile.Attr{Name: "pads", Value: []int{p.before[0], p.before[1], after[0], after[1]}}, onnxfile.Attr{Name: "strides", Value: p.stride[:]})
	if of == images {
		return w.Node("ConvTranspose", attrs, in[0].Name, in[1].Name)
	}
	return w.Node("Conv", attrs, in[0].Name, in[1].Name)
}

// product writes the convolution as a product of matrices, one for each group.
func (p patchPlan) product(w *ONNX, of part, groups, results int, in []ONNXValue, out []Extent) string {
	n, taps, spots := in[0].Shape[0], p.in/groups*p.taps(), p.spots()
	g := Extent{Fixed: groups}
	filters := w.Reshape(in[1], g, Extent{Fixed: results / groups}, Extent{Fixed: taps})
	if of == images {
		y := w.Reshape(in[0], n, g, Extent{Fixed: results / groups}, Extent{Fixed: spots})
		x := w.matMul(filters, y, true, false)
		return p.fold(w, w.Reshape(x, n, Extent{Fixed: groups * taps}, Extent{Fixed: spots})).Name
	}
	x := w.Reshape(p.patches(w, in[0]), n, g, Extent{Fixed: taps}, Extent{Fixed: spots})
	return w.Reshape(w.matMul(filters, x, false, false), out...).Name
}

// filterONNX writes the derivative by the filters: products of the patches of images with results, one for each term, or their sum.
func (r conv) filterONNX(w *ONNX, p patchPlan, groups int, in []ONNXValue, out []Extent) string {
	outs, taps := r.shape(results)[0]/groups, p.in/groups*p.taps()
	g, spots := Extent{Fixed: groups}, Extent{Fixed: p.spots()}
	x := p.patches(w, in[0])
	images, terms := in[0].Shape[0], in[1].Shape[0]
	if r.rows.Y%r.rows.X != 0 {
		return w.Failf("a convolution of several images for each result")
	}
	per := Extent{Fixed: r.rows.Y / r.rows.X}
	x = w.Reshape(x, images, Extent{Fixed: 1}, g, Extent{Fixed: taps}, spots)
	y := w.Reshape(in[1], images, per, g, Extent{Fixed: outs}, spots)
	z := w.matMul(y, x, false, true)
	if c, ok := r.convolution.(plainConv); ok && c.ChannelsLast {
		z = w.Reshape(z, terms, Extent{Fixed: outs}, Extent{Fixed: p.in}, Extent{Fixed: p.taps()})
		z = w.Transpose(z, 0, 1, 3, 2)
	}
	if r.stacked {
		return w.Reshape(z, out...).Name
	}
	flat := w.Reshape(z, terms, w.product(out))
	return w.Reshape(w.sum(flat, 0), out...).Name
}
