package layers

import "github.com/go-valla/valla/graph"

// Trainer is a network that computes something else while it is trained.
type Trainer interface {
	Network
	// Training is Forward in that case. After each step the updates are due.
	Training(b *graph.Builder, x *graph.Node) (*graph.Node, []Update)
}

// Update says what becomes of an array of State after a step.
type Update struct {
	Param *graph.Param
	Value *graph.Node // of Param's shape
}

// Training writes a network into the graph as it is while it is trained.
func Training(b *graph.Builder, net Network, x *graph.Node) (*graph.Node, []Update) {
	if t, ok := net.(Trainer); ok {
		return t.Training(b, x)
	}
	return net.Forward(b, x), nil
}

// Stateful is a network with arrays that belong to it but are not trainable.
type Stateful interface {
	State() []*graph.Param
}

// State returns the arrays of a network that are not trainable, such as running
// statistics, in a fixed order.
func State(net Network) []*graph.Param {
	if s, ok := net.(Stateful); ok {
		return s.State()
	}
	return nil
}

// Arrays returns all that a network's outputs depend on: its parameters, then its state.
func Arrays(net Network) []*graph.Param {
	return append(append([]*graph.Param{}, net.Params()...), State(net)...)
}
