package layers

import "github.com/go-valla/valla/graph"

// none is the set of parameters of a layer that has none.
type none struct{}

// Params implements Network: there are none.
func (none) Params() []*graph.Param { return nil }

// MaxPool takes the largest element of each window of Size by Size elements, every
// Stride elements, of images [B,C,H,W].
type MaxPool struct {
	none
	Size, Stride int
}

// Forward implements Network.
func (p MaxPool) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	return b.MaxPool(x, p.Size, p.Stride)
}

// AveragePool takes the mean of each window of Size by Size elements, every Stride
// elements, of images [B,C,H,W].
type AveragePool struct {
	none
	Size, Stride int
}

// Forward implements Network.
func (p AveragePool) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	return b.AveragePool(x, p.Size, p.Stride)
}

// GlobalAveragePool takes the mean over all places of images [B,C,H,W], [B,C].
type GlobalAveragePool struct{ none }

// Forward implements Network.
func (GlobalAveragePool) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	return b.GlobalAveragePool(x)
}

// Flatten makes one axis of all but the batch, [B,C,H,W] to [B,C·H·W].
type Flatten struct{ none }

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
	Channels, Height, Width int
}

// Forward implements Network.
func (i Images) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	return b.Reshape(x, x.Shape()[0], i.Channels, i.Height, i.Width)
}

// ZeroPadShortcut is the parameter-free shortcut of He et al. (2016, "Deep residual
// learning", option A): every Stride-th row and column, with channels of zeros before
// and after, as many on each side, to make Channels of them.
type ZeroPadShortcut struct {
	none
	Channels, Stride int
}

// Forward implements Network: x [B,C,H,W].
func (s ZeroPadShortcut) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	if x.Dims() != 4 || (s.Channels-x.Shape()[1])%2 != 0 {
		return b.Failf("layers: zero-padding shortcut: shape %v to %d channels: expected [B,C,H,W] and an even difference", x.Shape(), s.Channels)
	}
	from := (s.Channels - x.Shape()[1]) / 2
	return b.Pad(b.Every(b.Every(x, 2, s.Stride), 3, s.Stride), 1, from, s.Channels)
}
