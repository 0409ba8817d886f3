package layers

import (
	"slices"

	"github.com/go-valla/valla/graph"
)

// Network is a function of a batch of inputs with trainable parameters.
type Network interface {
	// Forward writes the network's outputs for the inputs x [B, …] into b's graph.
	// Axis 0 is the batch; each example is treated by itself.
	Forward(b *graph.Builder, x *graph.Node) *graph.Node
	// Params returns the trainable parameters, in a fixed order.
	Params() []*graph.Param
}

// Sequential applies networks one after the other.
type Sequential []Network

// Forward implements Network.
func (s Sequential) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	for _, l := range s {
		x = l.Forward(b, x)
	}
	return x
}

// Params implements Network. A parameter that several layers share is listed once.
func (s Sequential) Params() []*graph.Param {
	var all []*graph.Param
	for _, l := range s {
		for _, p := range l.Params() {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// Residual adds a network's output to its input, y = x + Inner(x); the shapes must agree.
type Residual struct{ Inner Network }

// Forward implements Network.
func (r Residual) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	y := r.Inner.Forward(b, x)
	if b.Err() == nil && !slices.Equal(y.Shape(), x.Shape()) { // Add would broadcast
		return b.Failf("layers: residual: the inner network gives shape %v for the input %v", y.Shape(), x.Shape())
	}
	return b.Add(x, y)
}

// Params implements Network.
func (r Residual) Params() []*graph.Param { return r.Inner.Params() }

// Count returns the number of trainable numbers, P.
func Count(n Network) int {
	total := 0
	for _, p := range n.Params() {
		total += p.Value.Shape().TotalSize()
	}
	return total
}
