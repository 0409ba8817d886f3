package layers

import "github.com/go-valla/valla/graph"

// convolution is a two-dimensional convolution of images. [Conv2D] and [Convolution]
// describe it.
type convolution struct {
	w          *graph.Param      // filters [out, in/groups, height, width]; transposed [in, out/groups, height, width]
	bias       *graph.Param      // [out]; nil: none
	options    graph.ConvOptions // stride, dilation, zeros around the images, groups
	transposed bool              // the transposed map
	describes  Layer             // the description the convolution was made of
}

// Weights implements Affine.
func (c convolution) Weights() (w, bias *graph.Param) { return c.w, c.bias }

// Apply implements Affine: x [B,C,H,W].
func (c convolution) Apply(b *graph.Builder, x, w, bias *graph.Node) *graph.Node {
	var y *graph.Node
	if c.transposed {
		y = b.ConvTranspose(x, w, [2]int{}, c.options)
	} else {
		y = b.Convolution(x, w, c.options)
	}
	if bias == nil || b.Err() != nil {
		return y
	}
	return b.Add(y, b.Reshape(bias, 1, bias.Shape().TotalSize(), 1, 1))
}

// ApplyEach implements PerExample. The examples are groups of channels of one image.
func (c convolution) ApplyEach(b *graph.Builder, x, w *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	s, f := x.Shape(), w.Shape()
	c.options.Groups = max(c.options.Groups, 1) * s[0]
	y := c.Apply(b, b.Reshape(x, 1, s[0]*s[1], s[2], s[3]), b.Reshape(w, f[0]*f[1], f[2], f[3], f[4]), nil)
	if b.Err() != nil {
		return nil
	}
	out := y.Shape()
	return b.Reshape(y, s[0], out[1]/s[0], out[2], out[3])
}

// Filters implements Filtering.
func (c convolution) Filters(b *graph.Builder, w *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	s := w.Shape()
	out := s[0]
	if c.transposed {
		w, out = b.Transpose(w, 1, 0, 2, 3), s[1]
	}
	return b.Reshape(w, out, s.TotalSize()/out)
}

// Forward implements Network: x [B,C,H,W].
func (c convolution) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	return applied(c, b, x)
}

// Params implements Network.
func (c convolution) Params() []*graph.Param { return affineParams(c) }

// Describe implements Describer.
func (c convolution) Describe() (Layers, error) { return Layers{c.describes}, nil }

// applied writes the outputs of a layer with its own weights.
func applied(l Affine, b *graph.Builder, x *graph.Node) *graph.Node {
	w, bias := l.Weights()
	if bias == nil {
		return l.Apply(b, x, b.Param(w), nil)
	}
	return l.Apply(b, x, b.Param(w), b.Param(bias))
}

// affineParams lists the weights and, where there is one, the bias.
func affineParams(l Affine) []*graph.Param {
	w, bias := l.Weights()
	if bias == nil {
		return []*graph.Param{w}
	}
	return []*graph.Param{w, bias}
}
