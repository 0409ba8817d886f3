package layers

import (
	"cmp"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// Conv2D describes a convolution of images [C,H,W] with square filters, as [NewConv2D] makes
// it. [Convolution] has more settings and other start values.
type Conv2D struct {
	Name    string `json:"name,omitempty"`    // empty: conv1, conv2, …
	Filters int    `json:"filters"`           // channels of the outputs
	Kernel  int    `json:"kernel"`            // rows and columns of a filter
	Stride  int    `json:"stride,omitempty"`  // 0: 1
	Padding int    `json:"padding,omitempty"` // rows and columns of zeros on each side
	Bias    bool   `json:"bias,omitempty"`    // with a bias, which starts at 0
}

func init() { RegisterLayer[Conv2D]("conv2d") }

// NewConv2D returns a convolution with square filters and without bias. Its parameter is
// called name.weight and is drawn from N(0, 2/(out·kernel²)) (He et al. 2015, "Delving
// deep into rectifiers", eq. 14).
func NewConv2D(name string, in, out, kernel, stride, padding int, dt tensor.Dtype, rng *rand.Rand) Affine {
	l := Conv2D{Name: name, Filters: out, Kernel: kernel, Stride: stride, Padding: padding}
	o := graph.ConvOptions{Stride: [2]int{stride, stride}, Before: [2]int{padding, padding}, After: [2]int{padding, padding}}
	return l.make(free(dt, rng), o, in)
}

// Make implements Layer.
func (l Conv2D) Make(m *Maker, in []int) (Network, []int, error) {
	l.Stride = cmp.Or(l.Stride, 1)
	all := Convolution{Filters: l.Filters, Kernel: []int{l.Kernel}, Stride: []int{l.Stride}, Padding: []int{l.Padding}}
	o, _, out, err := all.fit(in)
	if err != nil {
		return nil, nil, err
	}
	l.Name = m.Name(l.Name, "conv")
	return l.make(m, o, in[0]), out, nil
}

func (l Conv2D) make(m *Maker, o graph.ConvOptions, in int) convolution {
	std := math.Sqrt(2 / float64(l.Filters*l.Kernel*l.Kernel))
	c := convolution{options: o, describes: l}
	c.w = m.Param(l.Name+".weight", Normal(std), l.Filters, in, l.Kernel, l.Kernel)
	if l.Bias {
		c.bias = m.Param(l.Name+".bias", Constant(0), l.Filters)
	}
	return c
}
