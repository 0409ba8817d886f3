package layers

import (
	"fmt"
	"slices"

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

// Joinable is a network that can make a single value of several that lead across a place, and so can be divided there.
type Joinable interface {
	Divisible
	// Place returns the place before all of the uncertain parameters where to join values, for examples of a shape; 0 where
	// at least half of the weights before them come before a single value already.
	Place(input []int, uncertain []*graph.Param) (int, error)
	// Join returns the network, which shares the arrays, with the values that lead across a place joined.
	Join(input []int, place int) (Divisible, error)
}

// Place returns [Joinable.Place] of the first layer of a network that is Joinable; 0 if there is none.
func Place(net Network, input []int, dt tensor.Dtype, uncertain []*graph.Param) (place int, err error) {
	_, err = joined(net, input, dt, func(j Joinable, in []int) (Divisible, error) {
		place, err = j.Place(in, uncertain)
		return j, err
	})
	return place, err
}

// Join returns a network whose first layer that is [Joinable] is joined at a place.
func Join(net Network, input []int, dt tensor.Dtype, place int) (Network, error) {
	found := false
	net, err := joined(net, input, dt, func(j Joinable, in []int) (Divisible, error) {
		found = true
		return j.Join(in, place)
	})
	if err == nil && !found {
		return nil, fmt.Errorf("no layer whose values can be joined")
	}
	return net, err
}

// joined returns a network with what a function returns in place of the first layer that is Joinable.
func joined(net Network, input []int, dt tensor.Dtype, of func(j Joinable, input []int) (Divisible, error)) (Network, error) {
	list, ok := net.(Sequential)
	if !ok {
		list = Sequential{net}
	}
	at := slices.IndexFunc(list, func(l Network) bool { _, ok := l.(Joinable); return ok })
	if at < 0 {
		return net, nil
	}
	b := graph.NewBuilder(dt)
	x := list[:at].Forward(b, b.Input("x", append([]int{3}, input...)...))
	if b.Err() != nil {
		return nil, b.Err()
	}
	part, err := of(list[at].(Joinable), x.Shape()[1:].Clone())
	list = slices.Clone(list)
	list[at] = part
	return list, err
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
