package layers

import (
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// Conv2D is a two-dimensional convolution of images, as PyTorch's.
type Conv2D struct {
	W       *graph.Param // [out, in, height, width]
	B       *graph.Param // [out], nil for none
	Stride  int
	Padding int // rows and columns of zeros on each side
}

// NewConv2D returns a convolution with square filters, without bias, whose parameter
// is called name.weight, drawn from N(0, 2/(out·kernel²)) (He et al. 2015, "Delving
// deep into rectifiers", eq. 14).
func NewConv2D(name string, in, out, kernel, stride, padding int, dt tensor.Dtype, rng *rand.Rand) Conv2D {
	std := math.Sqrt(2 / float64(out*kernel*kernel))
	w := graph.NewParam(name+".weight", gaussian(std, rng, out*in*kernel*kernel), dt, out, in, kernel, kernel)
	return Conv2D{W: w, Stride: stride, Padding: padding}
}

// WithBias returns c with a bias called name.bias, zero.
func (c Conv2D) WithBias(name string) Conv2D {
	out := c.W.Value.Shape()[0]
	c.B = graph.NewParam(name+".bias", make([]float64, out), c.W.Value.Dtype(), out)
	return c
}

// Forward implements Network: x [B,in,H,W] gives [B,out,H',W'] with
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

// gaussian draws n numbers from N(0, std²).
func gaussian(std float64, rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = std * rng.NormFloat64()
	}
	return v
}
