package jacobian

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Directional computes a network g(x) [C] and its derivatives J(x) v [C,K] along K fixed
// directions for any number of inputs.
type Directional struct {
	f    *graph.Batched // the outputs and their derivatives
	c, k int            // outputs and directions
}

// NewDirectional compiles a network, for inputs of a shape each, and its derivatives along the
// rows of v [K,P], which is read by reference. A batch of inputs is computed at a time, or a
// whole fraction of it where that needs more than limit bytes. If one input needs more, the
// error is a *graph.MemoryError.
func NewDirectional(net layers.Network, input []int, v *tensor.Dense, batch int, limit int64) (*Directional, error) {
	f, err := graph.NewBatchedWithin("the derivatives along directions", batch, limit, func(size int) (graph.Pass, error) {
		return DirectionalPass(net, input, v, size)
	})
	if err != nil {
		return nil, err
	}
	return &Directional{f: f, c: f.Width(0), k: v.Shape()[0]}, nil
}

// DirectionalPass writes the outputs [B,C] of a network for size inputs of a shape each, and their
// derivatives [B,C,K] along the rows of v [K,P], which is read by reference. It is an error if the
// outputs of the network have another shape.
func DirectionalPass(net layers.Network, input []int, v *tensor.Dense, size int) (graph.Pass, error) {
	b := graph.NewBuilder(v.Dtype())
	x := b.Input("x", append([]int{size}, input...)...)
	out := net.Forward(b, x)
	if b.Err() != nil {
		return graph.Pass{}, b.Err()
	}
	if s := out.Shape(); len(s) != 2 || s[0] != size {
		return graph.Pass{}, fmt.Errorf("the network maps shape %v to %v, expected [B,…] to [B,C]", x.Shape(), s)
	}
	return graph.Pass{Builder: b, X: x, Outputs: []*graph.Node{out, Along(b, net, x, out, v)}}, nil
}

// Outputs returns C.
func (f *Directional) Outputs() int { return f.c }

// Directions returns K.
func (f *Directional) Directions() int { return f.k }

// Each calls visit, batch by batch in order, with the number of the first input, the
// network's outputs [n,C] and the derivatives [n,C,K], for inputs x [N,…]. The slices are
// visit's to keep. It ends with visit's error, or ctx's.
func (f *Directional) Each(ctx context.Context, x *tensor.Dense, visit func(first int, mean, along []float64) error) error {
	if x.Dims() < 2 || slices.Min(x.Shape()) == 0 {
		return fmt.Errorf("inputs of shape %v, expected [N,…], N ≥ 1", x.Shape())
	}
	return f.f.Each(ctx, x, func(first, n int, out []*tensor.Dense) error {
		return visit(first, graph.Floats(out[0])[:n*f.c], graph.Floats(out[1])[:n*f.c*f.k])
	})
}
