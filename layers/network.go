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

// Training implements Trainer.
func (s Sequential) Training(b *graph.Builder, x *graph.Node) (*graph.Node, []Update) {
	var all []Update
	for _, l := range s {
		var updates []Update
		x, updates = Training(b, l, x)
		all = append(all, updates...)
	}
	return x, all
}

// Params implements Network. A parameter that several layers share is listed once.
func (s Sequential) Params() []*graph.Param { return union(s, Network.Params) }

// State implements Stateful.
func (s Sequential) State() []*graph.Param { return union(s, State) }

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
	Inner    Network
	Shortcut Network // nil: the identity
}

// Forward implements Network.
func (r Residual) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	short := x
	if r.Shortcut != nil {
		short = r.Shortcut.Forward(b, x)
	}
	return r.join(b, r.Inner.Forward(b, x), short)
}

// Training implements Trainer.
func (r Residual) Training(b *graph.Builder, x *graph.Node) (*graph.Node, []Update) {
	y, updates := Training(b, r.Inner, x)
	short := x
	if r.Shortcut != nil {
		var more []Update
		short, more = Training(b, r.Shortcut, x)
		updates = append(updates, more...)
	}
	return r.join(b, y, short), updates
}

func (r Residual) join(b *graph.Builder, y, short *graph.Node) *graph.Node {
	if b.Err() == nil && !slices.Equal(y.Shape(), short.Shape()) { // Add would broadcast
		return b.Failf("layers: residual: the inner network gives shape %v, the shortcut %v", y.Shape(), short.Shape())
	}
	return b.Add(y, short)
}

// Params implements Network: the inner network's, then the shortcut's.
func (r Residual) Params() []*graph.Param { return union(r.parts(), Network.Params) }

// State implements Stateful.
func (r Residual) State() []*graph.Param { return union(r.parts(), State) }

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
