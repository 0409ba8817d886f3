package onnx

import (
	"slices"

	"github.com/go-valla/valla/graph"
)

func init() {
	add(map[string]operator{
		"Gemm":              gemm,
		"MatMul":            matMul,
		"Conv":              conv,
		"ConvTranspose":     convTranspose,
		"MaxPool":           maxPool,
		"AveragePool":       averagePool,
		"GlobalAveragePool": globalPool((*call).mean),
		"GlobalMaxPool": globalPool(func(c *call, x *graph.Node, to []int) *graph.Node {
			return c.b.Reshape(c.b.MaxPool(flatImages(c.b, x), [2]int{1, x.Shape().TotalSize() / product(to)}, [2]int{1, 1}), to...)
		}),
		"BatchNormalization":    batchNorm,
		"InstanceNormalization": instanceNorm,
		"LayerNormalization":    layerNorm,
		"GroupNormalization":    groupNorm,
	})
}

func gemm(c *call) []value {
	y := c.made(c.b.MatMul(c.node(0), c.node(1), c.int("transA", 0) != 0, c.int("transB", 0) != 0))
	if alpha := c.float("alpha", 1); alpha != 1 {
		y = c.b.Scale(y, alpha)
	}
	if !c.has(2) {
		return nodes(c.made(y))
	}
	bias := c.node(2)
	if beta := c.float("beta", 1); beta != 1 {
		bias = c.b.Scale(bias, beta)
	}
	return nodes(c.made(c.b.Add(y, bias)))
}

func matMul(c *call) []value {
	if c.constant() {
		c.failf("a product of two constants")
	}
	x, y := c.node(0), c.node(1)
	if w := c.value(1); c.narrow && x.Dims() > 1 && w.origin != nil && slices.Equal(w.perm, []int{1, 0}) {
		return nodes(c.made(c.b.MatMul(x, w.origin, false, true))) // of weights, derivatives are then outer products
	}
	rowVector, columnVector := x.Dims() == 1, y.Dims() == 1
	if rowVector {
		x = c.b.Reshape(x, 1, x.Shape()[0])
	}
	if columnVector {
		y = c.b.Reshape(y, y.Shape()[0], 1)
	}
	if c.made(y); x.Dims() == 2 && y.Dims() > 2 || y.Dims() > 2 && !slices.Equal(x.Shape()[:x.Dims()-2], y.Shape()[:y.Dims()-2]) {
		nx, ny := x.Dims()-2, y.Dims()-2
		stack, err := broadcast(x.Shape()[:nx], y.Shape()[:ny])
		stack = must(c, stack, err)
		x = c.expanded(value{node: x}, append(slices.Clone(stack), x.Shape()[nx:]...)).node
		y = c.expanded(value{node: y}, append(slices.Clone(stack), y.Shape()[ny:]...)).node
	}
	z := c.made(c.b.MatMul(x, y, false, false))
	shape := z.Shape().Clone()
	if columnVector {
		shape = shape[:len(shape)-1]
	}
	if rowVector {
		at := z.Dims() - 2
		shape = slices.Delete(shape, at, at+1)
	}
	return c.reshaped(value{node: z}, shape)
}

// plane is a batch of images with one or two axes of places, written with rows and columns.
type plane struct {
	x       *graph.Node // [B,C,H,W]
	lengths int         // axes of places in the file, 1 or 2
	size    [2]int      // rows and columns
}

// plane returns an input as images.
func (c *call) plane(i int) plane {
	x := c.node(i)
	s := x.Shape()
	switch len(s) {
	case 3:
		return plane{c.made(c.b.Reshape(x, s[0], s[1], 1, s[2])), 1, [2]int{1, s[2]}}
	case 4:
		return plane{x, 2, [2]int{s[2], s[3]}}
	}
	c.failf("shape %v, expected [B,C,L] or [B,C,H,W]", s)
	return plane{}
}

// back gives a result the axes that it has in the file.
func (p plane) back(c *call, y *graph.Node) []value {
	if s := c.made(y).Shape(); p.lengths == 1 {
		return nodes(c.made(c.b.Reshape(y, s[0], s[1], s[3])))
	}
	return nodes(y)
}

// pairOf returns an attribute as a number for rows and a number for columns; missing stands for an
// attribute that the node does not have.
func (c *call) pairOf(p plane, name string, missing int) [2]int {
	list := c.ints(name)
	switch {
	case list == nil:
		return [2]int{missing, missing}
	case len(list) != p.lengths:
		c.failf("%s %v for %d axes", name, list, p.lengths)
	case p.lengths == 1:
		return [2]int{missing, list[0]}
	}
	return [2]int(list)
}

// window is the settings that convolutions and pools share.
type window struct {
	graph.ConvOptions
	size [2]int // rows and columns of a filter or of a window
}

// window reads strides, dilations and pads for filters of a size.
func (c *call) window(p plane, size [2]int) window {
	w := window{size: size}
	w.Stride, w.Dilation = c.pairOf(p, "strides", 1), c.pairOf(p, "dilations", 1)
	if min(w.Stride[0], w.Stride[1], w.Dilation[0], w.Dilation[1], size[0], size[1]) < 1 {
		c.failf("strides %v, dilations %v and size %v, expected at least 1", w.Stride, w.Dilation, size)
	}
	pads := c.ints("pads")
	switch {
	case pads != nil && len(pads) != 2*p.lengths:
		c.failf("pads %v for %d axes", pads, p.lengths)
	case p.lengths == 1 && pads != nil:
		pads = []int{0, pads[0], 0, pads[1]}
	}
	if pads != nil {
		w.Before, w.After = [2]int(pads[:2]), [2]int(pads[2:])
	}
	c.autoPad(p, &w)
	if min(w.Before[0], w.Before[1], w.After[0], w.After[1]) < 0 {
		c.failf("pads %v, expected at least 0", pads)
	}
	return w
}

// autoPad pads so that there is a result for every stride-th place.
func (c *call) autoPad(p plane, w *window) {
	mode := c.text("auto_pad", "NOTSET")
	if mode != "SAME_UPPER" && mode != "SAME_LOWER" {
		if mode != "NOTSET" && mode != "VALID" {
			c.failf("auto_pad %q", mode)
		}
		if pads := c.ints("pads"); mode == "VALID" && sum(w.Before, w.After) != [2]int{} {
			c.failf("pads %v with auto_pad VALID, expected none", pads)
		}
		return
	}
	for d := range 2 {
		places := (p.size[d] + w.Stride[d] - 1) / w.Stride[d]
		total := max(0, (places-1)*w.Stride[d]+w.reach(d)-p.size[d])
		w.Before[d], w.After[d] = total/2, total-total/2
		if mode == "SAME_LOWER" {
			w.Before[d], w.After[d] = w.After[d], w.Before[d]
		}
	}
}

// reach is the number of places that a filter covers.
func (w window) reach(d int) int { return w.Dilation[d]*(w.size[d]-1) + 1 }

// filters returns the weights of a convolution as [.,.,KH,KW], and the convolution's settings.
func (c *call) filters(p plane) (*graph.Node, graph.ConvOptions) {
	w := c.node(1)
	s := w.Shape()
	if len(s) != p.lengths+2 {
		c.failf("filters of shape %v for %d axes", s, p.lengths)
	}
	if p.lengths == 1 {
		w = c.made(c.b.Reshape(w, s[0], s[1], 1, s[2]))
	}
	size := [2]int(w.Shape()[2:])
	if list := c.ints("kernel_shape"); list != nil && c.pairOf(p, "kernel_shape", 1) != size {
		c.failf("kernel_shape %v for filters of %v", list, s[2:])
	}
	o := c.window(p, size).ConvOptions
	if o.Groups = c.int("group", 1); o.Groups < 1 {
		c.failf("group %d", o.Groups)
	}
	return w, o
}

// biased adds an optional bias to each channel.
func (c *call) biased(y *graph.Node) *graph.Node {
	if !c.has(2) {
		return y
	}
	return c.b.Add(y, c.perChannel(2, 4))
}

// scaled multiplies y, an array [B,C,...] of n axes, by input 1 and adds input 2, both [C].
func (c *call) scaled(y *graph.Node, n int) *graph.Node {
	return c.b.Add(c.b.Mul(y, c.perChannel(1, n)), c.perChannel(2, n))
}

// perChannel returns an input [C] in a shape that broadcasts over arrays [B,C,...] of n axes.
func (c *call) perChannel(i, n int) *graph.Node {
	v := c.node(i)
	if n < 2 || v.Dims() != 1 {
		c.failf("input %d has shape %v for %d axes, expected one number for each channel", i+1, v.Shape(), n)
	}
	return c.made(c.b.Reshape(v, along(n, 1, v.Shape()[0])...))
}

func conv(c *call) []value {
	p := c.plane(0)
	filters, o := c.filters(p)
	x := p.x
	fast := o.Groups == 1 && o.Stride[0] == o.Stride[1] && o.Dilation == [2]int{1, 1}
	if even := o.Before == o.After && o.Before[0] == o.Before[1]; fast && !even {
		x = c.padded(x, o.Before, o.After, 0) // Conv2D pads all sides alike
		o.Before, o.After = [2]int{}, [2]int{}
	}
	return p.back(c, c.biased(c.made(c.b.Convolution(x, filters, o))))
}

func convTranspose(c *call) []value {
	p := c.plane(0)
	if c.ints("output_shape") != nil || c.text("auto_pad", "NOTSET") != "NOTSET" {
		c.failf("output_shape and auto_pad are not supported, only pads and output_padding")
	}
	filters, o := c.filters(p)
	return p.back(c, c.biased(c.made(c.b.ConvTranspose(p.x, filters, c.pairOf(p, "output_padding", 0), o))))
}

// padded surrounds images by a number.
func (c *call) padded(x *graph.Node, before, after [2]int, with float64) *graph.Node {
	for d := range 2 {
		n := x.Shape()[2+d]
		if before[d]+after[d] > 0 {
			x = c.made(c.b.Pad(x, 2+d, before[d], before[d]+n+after[d]))
		}
	}
	if with == 0 {
		return x
	}
	h, w := x.Shape()[2], x.Shape()[3]
	mask := c.table([]int{1, 1, h, w}, func(i, j int) float64 {
		inside := i >= before[0] && i < h-after[0] && j >= before[1] && j < w-after[1]
		return with * truth(!inside)
	})
	return c.made(c.b.Add(x, c.asNode(value{host: mask})))
}

// pool reads the settings of a pool. If the last window may reach over the edge, more is added
// after the images.
func (c *call) pool(p plane) (w window, beyond [2]int) {
	w = c.window(p, c.pairOf(p, "kernel_shape", 1))
	if w.Dilation != [2]int{1, 1} {
		c.failf("dilations %v of a pool are not supported, only 1", w.Dilation)
	}
	for d := range 2 {
		room := p.size[d] + w.Before[d] + w.After[d] - w.size[d]
		if room < 0 {
			c.failf("windows of %v in images of %v: they do not fit", w.size, p.size)
		}
		places := room/w.Stride[d] + 1
		if c.int("ceil_mode", 0) == 1 && room%w.Stride[d] != 0 && places*w.Stride[d] < p.size[d]+w.Before[d] {
			beyond[d] = places*w.Stride[d] - room
		}
	}
	return w, beyond
}

func sum(a, b [2]int) [2]int { return [2]int{a[0] + b[0], a[1] + b[1]} }

func maxPool(c *call) []value {
	if c.outputs() > 1 {
		c.failf("the places of the largest elements are not supported")
	}
	p := c.plane(0)
	w, beyond := c.pool(p)
	x, after := p.x, sum(w.After, beyond)
	if sum(w.Before, after) != [2]int{} {
		x = c.padded(x, w.Before, after, -c.largest())
	}
	return p.back(c, c.b.MaxPool(x, w.size, w.Stride))
}

func averagePool(c *call) []value {
	p := c.plane(0)
	w, beyond := c.pool(p)
	after := sum(w.After, beyond)
	if sum(w.Before, after) == [2]int{} {
		return p.back(c, c.b.AveragePool(p.x, w.size, w.Stride))
	}
	y := c.made(c.b.AveragePool(c.padded(p.x, w.Before, after, 0), w.size, w.Stride))
	low, high := [2]int{}, [2]int{}
	if c.int("count_include_pad", 0) == 0 {
		low, high = w.Before, sum(w.Before, p.size)
	} else {
		high = sum(sum(w.Before, p.size), w.After)
	}
	// The mean of a window has the elements that count in its denominator.
	share := func(d, i int) float64 {
		from, to := max(i*w.Stride[d], low[d]), min(i*w.Stride[d]+w.size[d], high[d])
		return float64(w.size[d]) / float64(max(to-from, 1))
	}
	shares := c.table([]int{1, 1, y.Shape()[2], y.Shape()[3]}, func(i, j int) float64 { return share(0, i) * share(1, j) })
	return p.back(c, c.b.Mul(y, c.asNode(value{host: shares})))
}

// globalPool reduces all places of a channel.
func globalPool(write func(c *call, x *graph.Node, to []int) *graph.Node) operator {
	return func(c *call) []value {
		x := c.node(0)
		if x.Dims() < 3 {
			c.failf("shape %v, expected [B,C,...]", x.Shape())
		}
		to := along(x.Dims(), 1, x.Shape()[1])
		to[0] = x.Shape()[0]
		return nodes(c.made(write(c, x, to)))
	}
}

// flatImages joins the places of images [B,C,...] to one row of columns.
func flatImages(b *graph.Builder, x *graph.Node) *graph.Node {
	s := x.Shape()
	return b.Reshape(x, s[0], s[1], 1, product(s[2:]))
}

// batchNorm is written as the batch norm of package layers: the input of the scale is the normalised input.
func batchNorm(c *call) []value {
	c.only("training_mode", 0)
	if n := c.outputs(); n > 1 { // up to opset 13, they alone tell a training
		c.failf("%d outputs, which are those of a training, expected one; export the model after model.eval()", n)
	}
	x := c.node(0)
	gamma, beta, mean, variance := c.perChannel(1, x.Dims()), c.perChannel(2, x.Dims()), c.perChannel(3, x.Dims()), c.perChannel(4, x.Dims())
	deviation := c.made(c.b.Sqrt(c.b.Affine(variance, 1, c.float("epsilon", epsilon))))
	inverse := c.b.Div(c.b.Fill(1, deviation.Shape()...), deviation)
	normal := c.b.Add(c.b.Mul(x, inverse), c.b.Neg(c.b.Mul(mean, inverse)))
	return nodes(c.made(c.b.Add(c.b.Mul(normal, gamma), beta)))
}

// epsilon is ONNX's standard, a float32.
const epsilon = float64(float32(1e-5))

// normalised subtracts the mean over the axes from number from on, and divides by the standard
// deviation over the same axes.
func (c *call) normalised(x *graph.Node, from int) *graph.Node {
	to := x.Shape().Clone()
	for d := from; d < len(to); d++ {
		to[d] = 1
	}
	centred := c.b.Sub(x, c.mean(x, to))
	variance := c.mean(c.b.Square(centred), to)
	return c.made(c.b.Div(centred, c.b.Sqrt(c.b.Affine(variance, 1, c.float("epsilon", epsilon)))))
}

func instanceNorm(c *call) []value {
	x := c.node(0)
	n := x.Dims()
	if n < 3 {
		c.failf("shape %v, expected [B,C,...]", x.Shape())
	}
	return nodes(c.made(c.scaled(c.normalised(x, 2), n)))
}

func layerNorm(c *call) []value {
	x := c.node(0)
	if c.outputs() > 1 {
		c.failf("the mean and the standard deviation as outputs are not supported")
	}
	y := c.b.Mul(c.normalised(x, c.axis(c.int("axis", -1), x.Dims())), c.node(1))
	if c.has(2) {
		y = c.b.Add(y, c.node(2))
	}
	return nodes(c.made(y))
}

func groupNorm(c *call) []value {
	x, groups := c.node(0), c.int("num_groups", 0)
	s := x.Shape()
	if len(s) < 3 || groups < 1 || s[1]%groups != 0 {
		c.failf("shape %v in %d groups of channels", s, groups)
	}
	y := c.normalised(c.made(c.b.Reshape(x, s[0], groups, product(s[1:])/groups)), 2)
	if c.opset >= 21 {
		y = c.b.Reshape(y, s...)
		return nodes(c.made(c.scaled(y, len(s))))
	}
	y = c.scaled(y, 3) // one number for each group
	return nodes(c.made(c.b.Reshape(y, s...)))
}
