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

// Composite is a network made of other networks, its parts.
type Composite interface {
	Network
	// Through writes the outputs for the inputs x [B, …]. It calls write for each part with the
	// inputs of the part, in the order of Params, and takes what write returns for its outputs.
	Through(b *graph.Builder, x *graph.Node, write func(part Network, x *graph.Node) *graph.Node) *graph.Node
}

// Sequential applies networks one after the other.
type Sequential []Network

// Through implements Composite.
func (s Sequential) Through(_ *graph.Builder, x *graph.Node, write func(part Network, x *graph.Node) *graph.Node) *graph.Node {
	for _, l := range s {
		x = write(l, x)
	}
	return x
}

// Forward implements Network.
func (s Sequential) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	return s.Through(b, x, func(l Network, x *graph.Node) *graph.Node { return l.Forward(b, x) })
}

// Params implements Network. A parameter that several layers share is listed once.
func (s Sequential) Params() []*graph.Param { return union(s, Network.Params) }

func (s Sequential) parts() []Network { return s }

// union lists the parameters of all layers, each once.
func union(layers []Network, of func(Network) []*graph.Param) []*graph.Param {
	var all []*graph.Param
	for _, l := range layers {
		for _, p := range of(l) {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// Residual adds the outputs of two networks, y = Shortcut(x) + Inner(x). Their shapes must
// be equal.
type Residual struct {
	Inner    Network // what the shortcut goes around
	Shortcut Network // nil: the identity
}

// Through implements Composite.
func (r Residual) Through(b *graph.Builder, x *graph.Node, write func(part Network, x *graph.Node) *graph.Node) *graph.Node {
	y := write(r.Inner, x)
	if r.Shortcut != nil {
		x = write(r.Shortcut, x)
	}
	return r.join(b, y, x)
}

// Forward implements Network. The shortcut comes first: the order of nodes decides the last bits
// of sums of gradients.
func (r Residual) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	short := x
	if r.Shortcut != nil {
		short = r.Shortcut.Forward(b, x)
	}
	return r.join(b, r.Inner.Forward(b, x), short)
}

func (r Residual) join(b *graph.Builder, y, short *graph.Node) *graph.Node {
	if b.Err() == nil && !slices.Equal(y.Shape(), short.Shape()) { // Add would broadcast
		return b.Failf("layers: residual: the inner network gives shape %v, the shortcut %v", y.Shape(), short.Shape())
	}
	return b.Add(y, short)
}

// Params implements Network: the inner network's, then the shortcut's.
func (r Residual) Params() []*graph.Param { return union(r.parts(), Network.Params) }

func (r Residual) parts() []Network {
	if r.Shortcut == nil {
		return []Network{r.Inner}
	}
	return []Network{r.Inner, r.Shortcut}
}

// Count returns the number of trainable numbers, P.
func Count(n Network) int {
	total := 0
	for _, p := range n.Params() {
		total += p.Value.Shape().TotalSize()
	}
	return total
}
