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

	unbounded []unbounded // other layers with weights
}

// linearLayer is a layer whose norm can be bounded.
type linearLayer struct {
	layers.Affine
	array int          // which of the network's parameters are its weights
	in    tensor.Shape // of its inputs for one example
	top   bool         // it stands in the list of layers itself, not deeper
}

// newNetwork takes off the last layer.
func newNetwork(net layers.Network, input []int) (*network, error) {
	all, ok := net.(layers.Sequential)
	if !ok {
		all = layers.Sequential{net}
	}
	if params := all.Params(); slices.ContainsFunc(all, divisible) && len(params) > 0 {
		var err error
		if all, err = layers.Chain(all, input, params[0].Value.Dtype()); err != nil {
			return nil, fmt.Errorf("sngp: %w", err)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("sngp: a network without layers")
	}
	last, err := layers.As[layers.Affine](all[len(all)-1], "a dense layer")
	if err != nil {
		return nil, fmt.Errorf("sngp: random features replace the last layer: %w", err)
	}
	w, _ := last.Weights()
	n := &network{hidden: all[:len(all)-1], input: slices.Clone(input), dt: w.Value.Dtype()}
	b := graph.NewBuilder(n.dt)
	h := visit(b, n.hidden, b.Input("x", append([]int{1}, input...)...), 0, n.add)
	y := last.Forward(b, h)
	if b.Err() != nil {
		return nil, fmt.Errorf("sngp: inputs of shape %v: %w", input, b.Err())
	}
	if h.Dims() != 2 || y.Dims() != 2 {
		return nil, fmt.Errorf("sngp: hidden units of shape %v and outputs of shape %v, expected [N,H] and [N,C]", h.Shape(), y.Shape())
	}
	n.units, n.output = h.Shape()[1], y.Shape()[1]
	return n, nil
}

// divisible reports whether a layer is a network with parts of its own.
func divisible(l layers.Network) bool {
	_, ok := l.(layers.Divisible)
	return ok
}

// add adds an affine layer to the list. Of layers that share weights the first counts. Another
// layer with weights is refused, unless its norm does not matter because it normalises.
func (n *network) add(l layers.Network, in tensor.Shape, top bool) {
	if _, ok := l.(layers.Normaliser); ok || len(l.Params()) == 0 {
		return
	}
	linear, err := layers.As[layers.Affine](l, "a layer whose norm can be bounded, such as a dense layer or a convolution")
	if err != nil {
		n.unbounded = append(n.unbounded, unbounded{err, top})
		return
	}
	w, _ := linear.Weights()
	i := slices.Index(n.hidden.Params(), w)
	if i < 0 || slices.ContainsFunc(n.linear, func(o linearLayer) bool { return o.array == i }) {
		return
	}
	n.linear = append(n.linear, linearLayer{linear, i, in.Clone(), top})
}

// unbounded is a layer of weights whose norm cannot be bounded.
type unbounded struct {
	refusal error
	top     bool // as in linearLayer
}

// visit writes the outputs of net, which stands deep lists and blocks below the whole network, at
// x. It calls see with each layer that has no parts, the shape of its input, and whether the layer
// stands in the network's list itself.
func visit(b *graph.Builder, net layers.Network, x *graph.Node, deep int, see func(l layers.Network, in tensor.Shape, top bool)) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	n, ok := net.(layers.Composite)
	if !ok {
		see(net, x.Shape(), deep == 1)
		return net.Forward(b, x)
	}
	return n.Through(b, x, func(part layers.Network, x *graph.Node) *graph.Node { return visit(b, part, x, deep+1, see) })
}
