package layers

import "github.com/go-valla/valla/graph"

// Trainer is a network that computes different outputs in training and in use.
type Trainer interface {
	Network
	// Training writes the outputs of the network in training for the inputs x [B, …]. The
	// caller carries out the updates after each training step.
	Training(b *graph.Builder, x *graph.Node) (*graph.Node, []Update)
}

// Update is the new value that an array of [State] gets after a training step.
type Update struct {
	Param *graph.Param // the array
	Value *graph.Node  // of Param's shape
}

// Training writes the outputs of net while it is trained: the outputs of its Training method if
// net is a [Trainer], its parts' outputs in training if net is a [Composite], else Forward's.
func Training(b *graph.Builder, net Network, x *graph.Node) (*graph.Node, []Update) {
	switch n := net.(type) {
	case Trainer:
		return n.Training(b, x)
	case Composite:
		var all []Update
		y := n.Through(b, x, func(part Network, x *graph.Node) *graph.Node {
			y, updates := Training(b, part, x)
			all = append(all, updates...)
			return y
		})
		return y, all
	}
	return net.Forward(b, x), nil
}

// Stateful is a network with arrays that belong to it but are not trainable.
type Stateful interface {
	// State returns these arrays in a fixed order.
	State() []*graph.Param
}

// State returns the arrays of a network that are not trainable, such as running
// statistics, in a fixed order.
func State(net Network) []*graph.Param {
	switch n := net.(type) {
	case Stateful:
		return n.State()
	case interface{ parts() []Network }:
		return union(n.parts(), State)
	}
	return nil
}

// Arrays returns all arrays that a network's outputs depend on: its parameters, followed
// by its state.
func Arrays(net Network) []*graph.Param {
	return append(append([]*graph.Param{}, net.Params()...), State(net)...)
}
