package sngp

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// network is the structure of a network without its last layer, a dense one. Copies of it have
// arrays of their own.
type network struct {
	hidden layers.Sequential
	input  tensor.Shape // of one example
	units  int          // H, the inputs of the last layer
	output int          // C
	dt     tensor.Dtype
	linear []linearLayer
}

// linearLayer is a dense or convolutional layer.
type linearLayer struct {
	layers.Network
	array int          // which of the network's parameters are its weights
	in    tensor.Shape // of its inputs for one example
	top   bool         // it stands in the list of layers itself, not deeper
}

// newNetwork takes off the last layer.
func newNetwork(net layers.Network, input []int) (*network, error) {
	all, ok := net.(layers.Sequential)
	if dense, isDense := net.(layers.Dense); isDense {
		all, ok = layers.Sequential{dense}, true
	}
	if !ok || len(all) == 0 {
		return nil, fmt.Errorf("sngp: a network of type %T, expected layers one after the other", net)
	}
	last, ok := all[len(all)-1].(layers.Dense)
	if !ok {
		return nil, fmt.Errorf("sngp: the last layer is a %T, expected a dense one, which random features replace", all[len(all)-1])
	}
	w := last.W.Value
	n := &network{hidden: all[:len(all)-1], input: slices.Clone(input), units: w.Shape()[0], output: w.Shape()[1], dt: w.Dtype()}
	b := graph.NewBuilder(n.dt)
	h := visit(b, n.hidden, b.Input("x", append([]int{1}, input...)...), true, n.add)
	if b.Err() != nil {
		return nil, fmt.Errorf("sngp: inputs of shape %v: %w", input, b.Err())
	}
	if !slices.Equal(h.Shape(), []int{1, n.units}) {
		return nil, fmt.Errorf("sngp: hidden units of shape %v, expected [N,%d] for the last layer", h.Shape(), n.units)
	}
	return n, nil
}

// add adds a layer to the list if it is dense or convolutional. Of layers that share weights the
// first counts.
func (n *network) add(l layers.Network, in tensor.Shape, top bool) {
	w := weightsOf(l)
	i := slices.Index(n.hidden.Params(), w)
	if w == nil || i < 0 || slices.ContainsFunc(n.linear, func(o linearLayer) bool { return o.array == i }) {
		return
	}
	n.linear = append(n.linear, linearLayer{l, i, in.Clone(), top})
}

// weightsOf returns the weights of a dense or convolutional layer, nil for other layers.
func weightsOf(net layers.Network) *graph.Param {
	switch l := net.(type) {
	case layers.Dense:
		return l.W
	case layers.Conv2D:
		return l.W
	case layers.Convolution:
		return l.W
	}
	return nil
}

// nodes are those of parameters.
func nodes(b *graph.Builder, params []*graph.Param) []*graph.Node {
	out := make([]*graph.Node, len(params))
	for i, p := range params {
		out[i] = b.Param(p)
	}
	return out
}

// visit writes the outputs of net at x and calls see with each layer that has no layers in it,
// the shape of its input, and whether it stands in the list of layers itself.
func visit(b *graph.Builder, net layers.Network, x *graph.Node, top bool, see func(l layers.Network, in tensor.Shape, top bool)) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	switch n := net.(type) {
	case layers.Sequential:
		for _, l := range n {
			_, list := l.(layers.Sequential)
			x = visit(b, l, x, top && !list, see)
		}
		return x
	case layers.Residual:
		visit(b, n.Inner, x, false, see)
		if n.Shortcut != nil {
			visit(b, n.Shortcut, x, false, see)
		}
	default:
		see(n, x.Shape(), top)
	}
	return net.Forward(b, x)
}
