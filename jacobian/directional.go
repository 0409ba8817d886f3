package jacobian

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Directional computes a network g(x) [C] and its derivatives J(x) v [C,K] along K fixed
// directions for any number of inputs.
type Directional struct {
	f    *graph.Batched
	c, k int
}

// NewDirectional compiles a network, for inputs of a shape each, and its derivatives along the
// rows of v [K,P], which is read by reference. A batch of inputs is computed at a time, or a
// whole fraction of it where that needs more than limit bytes. If one input needs more, the
// error is a *graph.MemoryError.
func NewDirectional(net layers.Network, input []int, v *tensor.Dense, batch int, limit int64) (*Directional, error) {
	var b *graph.Builder
	var x, out, along *graph.Node
	_, _, err := graph.Tile("the derivatives along directions", batch, max(1, limit), func(size int) (int64, error) {
		b = graph.NewBuilder(v.Dtype())
		x = b.Input("x", append([]int{size}, input...)...)
		if out = net.Forward(b, x); b.Err() != nil {
			return 0, b.Err()
		}
		if s := out.Shape(); len(s) != 2 || s[0] != size {
			return 0, fmt.Errorf("the network maps shape %v to %v, expected [B,…] to [B,C]", x.Shape(), s)
		}
		along = Along(b, net, x, out, v)
		bytes, err := graph.Plan(b, []*graph.Node{out, along}, graph.Options{Varying: []*graph.Node{x}})
		return int64(bytes), err
	})
	if err != nil {
		return nil, err
	}
	f, err := graph.NewBatched(b, x, out, along)
	if err != nil {
		return nil, err
	}
	f.Limit(limit)
	return &Directional{f: f, c: out.Shape()[1], k: v.Shape()[0]}, nil
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
		return errors.New("0 inputs, expected [N,…], N ≥ 1")
	}
	return f.f.Each(ctx, x, func(first, n int, out []*tensor.Dense) error {
		return visit(first, graph.Floats(out[0])[:n*f.c], graph.Floats(out[1])[:n*f.c*f.k])
	})
}
