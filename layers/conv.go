package layers

import (
	"cmp"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// Conv2D is a two-dimensional convolution of images, with PyTorch's conventions.
type Conv2D struct {
	W       *graph.Param // [out, in, height, width]
	B       *graph.Param // [out], nil for none
	Stride  int
	Padding int // rows and columns of zeros on each side
}

// NewConv2D returns a convolution with square filters and without bias. Its parameter is
// called name.weight and is drawn from N(0, 2/(out·kernel²)) (He et al. 2015, "Delving
// deep into rectifiers", eq. 14).
func NewConv2D(name string, in, out, kernel, stride, padding int, dt tensor.Dtype, rng *rand.Rand) Conv2D {
	c := Conv2DLayer{Name: name, Filters: out, Kernel: kernel, Stride: stride, Padding: padding}
	return c.make(free(dt, rng), in)
}

// Conv2DLayer describes a [Conv2D] with square filters for images [C,H,W] as [NewConv2D]
// makes it.
type Conv2DLayer struct {
	Name    string `json:"name,omitempty"`    // empty: conv1, conv2, …
	Filters int    `json:"filters"`           // channels of the outputs
	Kernel  int    `json:"kernel"`            // rows and columns of a filter
	Stride  int    `json:"stride,omitempty"`  // 0: 1
	Padding int    `json:"padding,omitempty"` // rows and columns of zeros on each side
	Bias    bool   `json:"bias,omitempty"`
}

func init() { RegisterLayer[Conv2DLayer]("conv2d") }

// Kind implements Layer.
func (Conv2DLayer) Kind() string { return "conv2d" }

// Make implements Layer.
func (l Conv2DLayer) Make(m *Maker, in []int) (Network, []int, error) {
	if err := expectImages(in); err != nil {
		return nil, nil, err
	}
	l.Stride = cmp.Or(l.Stride, 1)
	k := kernel.Conv{
		In: in[0], Height: in[1], Width: in[2], Out: l.Filters,
		KernelHeight: l.Kernel, KernelWidth: l.Kernel, Stride: l.Stride, Padding: l.Padding,
	}
	if err := k.Check(); err != nil {
		return nil, nil, err
	}
	l.Name = m.Name(l.Name, "conv")
	return l.make(m, in[0]), []int{l.Filters, k.OutHeight(), k.OutWidth()}, nil
}

func (l Conv2DLayer) make(m *Maker, in int) Conv2D {
	std := math.Sqrt(2 / float64(l.Filters*l.Kernel*l.Kernel))
	c := Conv2D{Stride: l.Stride, Padding: l.Padding}
	c.W = m.Param(l.Name+".weight", Normal(std), l.Filters, in, l.Kernel, l.Kernel)
	if l.Bias {
		c.B = m.Param(l.Name+".bias", Constant(0), l.Filters)
	}
	return c
}

// WithBias returns c with a bias that is called name.bias and starts at zero.
func (c Conv2D) WithBias(name string) Conv2D {
	out := c.W.Value.Shape()[0]
	c.B = graph.NewParam(name+".bias", make([]float64, out), c.W.Value.Dtype(), out)
	return c
}

// Forward implements Network: x [B,in,H,W] gives [B,out,H',W'], where
// H' = (H + 2·Padding − height)/Stride + 1, rounded down.
func (c Conv2D) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	y := b.Conv2D(x, b.Param(c.W), c.Stride, c.Padding)
	if c.B == nil {
		return y
	}
	return b.Add(y, perChannel(b, c.B))
}

// Params implements Network.
func (c Conv2D) Params() []*graph.Param {
	if c.B == nil {
		return []*graph.Param{c.W}
	}
	return []*graph.Param{c.W, c.B}
}

// perChannel returns the node of p [C] in a shape that broadcasts over images [B,C,H,W].
func perChannel(b *graph.Builder, p *graph.Param) *graph.Node {
	return b.Reshape(b.Param(p), 1, p.Value.Shape().TotalSize(), 1, 1)
}
