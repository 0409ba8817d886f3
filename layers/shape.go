package layers

import (
	"cmp"
	"fmt"
	"math"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

func init() {
	RegisterLayer[MaxPool]("max-pool")
	RegisterLayer[AveragePool]("average-pool")
	RegisterLayer[GlobalAveragePool]("global-average-pool")
	RegisterLayer[Flatten]("flatten")
	RegisterLayer[Images]("images")
	RegisterLayer[ZeroPadShortcut]("zero-pad")
}

// none is the set of parameters of a layer that has none.
type none struct{}

// Params implements Network: there are none.
func (none) Params() []*graph.Param { return nil }

// MaxPool takes the largest element of each window of Size by Size elements, every
// Stride elements, of images [B,C,H,W].
type MaxPool struct {
	none
	Size    int `json:"size"`              // rows and columns of a window
	Stride  int `json:"stride,omitempty"`  // 0: Size
	Padding int `json:"padding,omitempty"` // rows and columns on each side, at most Size/2, whose elements are never the largest
}

// Make implements Layer.
func (p MaxPool) Make(_ *Maker, in []int) (Network, []int, error) {
	if err := expectImages(in); err != nil {
		return nil, nil, err
	}
	if p.Padding < 0 || p.Padding > p.Size/2 {
		return nil, nil, fmt.Errorf("padding %d of windows of size %d, expected from 0 to half of it", p.Padding, p.Size)
	}
	out, err := windows([]int{in[0], in[1] + 2*p.Padding, in[2] + 2*p.Padding}, p.Size, cmp.Or(p.Stride, p.Size))
	return p, out, err
}

// Forward implements Network.
func (p MaxPool) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	if b.Err() == nil && p.Padding > 0 {
		x = padded(b, x, p.Padding)
	}
	return b.MaxPool(x, square(p.Size), square(cmp.Or(p.Stride, p.Size)))
}

// padded surrounds images by rows and columns of the smallest number of the element type.
func padded(b *graph.Builder, x *graph.Node, by int) *graph.Node {
	s := x.Shape()
	if len(s) != 4 {
		return b.Failf("layers: max pool: shape %v, expected [B,C,H,W]", s)
	}
	h, w := s[2]+2*by, s[3]+2*by
	least := -math.MaxFloat64
	if b.Dtype() == tensor.Float32 {
		least = -math.MaxFloat32
	}
	edge := make([]float64, h*w)
	for i := range edge {
		if y, x := i/w, i%w; y < by || y >= h-by || x < by || x >= w-by {
			edge[i] = least
		}
	}
	x = b.Pad(b.Pad(x, 2, by, h), 3, by, w)
	return b.Add(x, b.Const(fmt.Sprintf("edge of %d around %d×%d", by, s[2], s[3]), edge, 1, 1, h, w))
}

// windows returns the shape of an image of shape in after a pool.
func windows(in []int, size, stride int) ([]int, error) {
	if err := expectImages(in); err != nil {
		return nil, err
	}
	if size < 1 || stride < 1 || in[1] < size || in[2] < size {
		return nil, fmt.Errorf("windows of %d×%d every %d in images of shape %v: they do not fit", size, size, stride, in)
	}
	return []int{in[0], (in[1]-size)/stride + 1, (in[2]-size)/stride + 1}, nil
}

// AveragePool takes the mean of each window of Size by Size elements, every Stride
// elements, of images [B,C,H,W].
type AveragePool struct {
	none
	Size   int `json:"size"`             // rows and columns of a window
	Stride int `json:"stride,omitempty"` // 0: Size
}

// Make implements Layer.
func (p AveragePool) Make(_ *Maker, in []int) (Network, []int, error) {
	out, err := windows(in, p.Size, cmp.Or(p.Stride, p.Size))
	return p, out, err
}

// Forward implements Network.
func (p AveragePool) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	return b.AveragePool(x, square(p.Size), square(cmp.Or(p.Stride, p.Size)))
}

// square returns windows of n rows and n columns, or steps as long.
func square(n int) [2]int { return [2]int{n, n} }

// GlobalAveragePool takes the mean over all places of images [B,C,H,W], [B,C].
type GlobalAveragePool struct{ none }

// Make implements Layer.
func (p GlobalAveragePool) Make(_ *Maker, in []int) (Network, []int, error) {
	if err := expectImages(in); err != nil {
		return nil, nil, err
	}
	return p, in[:1], nil
}

// Forward implements Network.
func (GlobalAveragePool) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	return b.GlobalAveragePool(x)
}

// Pointwise implements Site: the hidden values are the means.
func (GlobalAveragePool) Pointwise() bool { return false }

// Flatten joins all axes but the batch into one: [B,C,H,W] becomes [B,C·H·W].
type Flatten struct{ none }

// Make implements Layer.
func (f Flatten) Make(_ *Maker, in []int) (Network, []int, error) {
	n, _ := elements(in)
	return f, []int{n}, nil
}

// Forward implements Network.
func (Flatten) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	n := x.Shape()[0]
	return b.Reshape(x, n, x.Shape().TotalSize()/n)
}

// Images gives each example [C·H·W] the shape [C,H,W].
type Images struct {
	none
	Channels int `json:"channels"` // C
	Height   int `json:"height"`   // H, rows
	Width    int `json:"width"`    // W, columns
}

// Make implements Layer.
func (i Images) Make(_ *Maker, in []int) (Network, []int, error) {
	out := []int{i.Channels, i.Height, i.Width}
	have, _ := elements(in)
	if want, ok := elements(out); !ok || want != have {
		return nil, nil, fmt.Errorf("inputs of shape %v cannot become images of shape %v", in, out)
	}
	return i, out, nil
}

// Forward implements Network.
func (i Images) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	return b.Reshape(x, x.Shape()[0], i.Channels, i.Height, i.Width)
}

// ZeroPadShortcut is the shortcut without parameters of He et al. (2016, "Deep residual
// learning", option A). It takes every Stride-th row and column of images [B,C,H,W] and
// adds the same number of channels of zeros before and after theirs, to make Channels.
type ZeroPadShortcut struct {
	none
	Channels int `json:"channels"`         // channels of the outputs
	Stride   int `json:"stride,omitempty"` // 0: 1
}

// Make implements Layer.
func (s ZeroPadShortcut) Make(_ *Maker, in []int) (Network, []int, error) {
	if err := expectImages(in); err != nil {
		return nil, nil, err
	}
	step := cmp.Or(s.Stride, 1)
	if step < 1 || s.Channels < in[0] || (s.Channels-in[0])%2 != 0 {
		return nil, nil, fmt.Errorf("images of shape %v to %d channels, every %d rows and columns: expected an even difference of channels", in, s.Channels, step)
	}
	return s, []int{s.Channels, (in[1]-1)/step + 1, (in[2]-1)/step + 1}, nil
}

// Forward implements Network: x [B,C,H,W].
func (s ZeroPadShortcut) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	if x.Dims() != 4 || (s.Channels-x.Shape()[1])%2 != 0 {
		return b.Failf("layers: zero-padding shortcut: shape %v to %d channels: expected [B,C,H,W] and an even difference", x.Shape(), s.Channels)
	}
	step := cmp.Or(s.Stride, 1)
	from := (s.Channels - x.Shape()[1]) / 2
	return b.Pad(b.Every(b.Every(x, 2, step), 3, step), 1, from, s.Channels)
}
