package layers

import (
	"fmt"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
)

// Affine is a layer whose outputs are affine in its inputs and linear in its weights, such as a
// dense layer or a convolution. A method asks for it that draws the weights or bounds their norm.
type Affine interface {
	Network
	// Weights returns the weights W and the bias, which is nil for a layer without bias.
	Weights() (w, bias *graph.Param)
	// Apply writes the outputs for inputs x [B, …], computed with weights w of W's shape and a
	// bias of the bias's shape. Without a bias, nil, the map is linear in x.
	Apply(b *graph.Builder, x, w, bias *graph.Node) *graph.Node
}

// PerExample is an [Affine] layer that can give each example weights of its own.
type PerExample interface {
	Affine
	// ApplyEach writes the outputs for inputs x [B, …] without a bias. w has the shape [B, …] with
	// W's shape after the batch: example i is computed with the weights w[i].
	ApplyEach(b *graph.Builder, x, w *graph.Node) *graph.Node
}

// Filtering is an [Affine] layer that applies a matrix of filters at several places of its inputs.
type Filtering interface {
	Affine
	// Filters writes weights w of W's shape as a matrix [out, rest] that has a row for each
	// channel of the outputs.
	Filters(b *graph.Builder, w *graph.Node) *graph.Node
}

// Normaliser is a layer that normalises its inputs and then scales and shifts each channel,
// y = γ x̂ + β.
type Normaliser interface {
	Network
	// Scale returns γ [C] and β [C].
	Scale() (gamma, beta *graph.Param)
}

// Site is a layer where hidden values of a network may become random, such as an activation.
type Site interface {
	Network
	// Pointwise says whether the layer is a function φ of each element alone. The hidden values
	// are then its inputs u, and φ(u) are its outputs. Otherwise they are its outputs.
	Pointwise() bool
}

// Divisible is a network that is a list of parts, each of which is applied to the outputs of the part before it. The parts
// follow from what the network computes, not from how it was made.
type Divisible interface {
	Network
	// Divide returns the parts for examples of a shape. They share the arrays of the network. The first takes the
	// inputs of the network, and the last gives its outputs.
	Divide(input []int) (Sequential, error)
}

// Chain lists the layers of a network that are applied one after the other to examples of a shape: lists are joined, and
// what is [Divisible] is divided.
func Chain(net Network, input []int, dt tensor.Dtype) (Sequential, error) {
	b := graph.NewBuilder(dt)
	return chain(b, net, b.Input("x", append([]int{3}, input...)...))
}

func chain(b *graph.Builder, net Network, x *graph.Node) (all Sequential, err error) {
	if b.Err() != nil {
		return nil, b.Err()
	}
	switch n := net.(type) {
	case Divisible:
		return n.Divide(x.Shape()[1:].Clone())
	case Sequential:
		for _, l := range n {
			parts, err := chain(b, l, x)
			if err != nil {
				return nil, err
			}
			all, x = append(all, parts...), l.Forward(b, x)
		}
		return all, b.Err()
	}
	return Sequential{net}, nil
}

// As returns a layer as a T, the interface of what a method needs. The error names the layer and
// what, which describes a T in a few words.
func As[T Network](l Network, what string) (T, error) {
	t, ok := l.(T)
	if !ok {
		return t, fmt.Errorf("the layer %s is not %s", Title(l), what)
	}
	return t, nil
}

// Title names a layer in messages by its arrays and its kind, such as "dense1 (dense)". A layer may have a method Title
// of its own.
func Title(l Network) string {
	if own, ok := l.(interface{ Title() string }); ok {
		return own.Title()
	}
	kind := fmt.Sprintf("%T", l)
	if list, err := describe(l); err == nil && len(list) == 1 {
		kind = KindOf(list[0])
	}
	if params := l.Params(); len(params) > 0 {
		return fmt.Sprintf("%s (%s)", layerName(params[0]), kind)
	}
	return kind
}
