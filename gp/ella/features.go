package ella

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// PredictBatch is how many inputs have their features computed at a time. Where that needs
// more memory than the limit, a whole fraction of it is computed at a time.
const PredictBatch = 100

// features computes the network g(x) and φ(x) = J(x) v for any number of inputs.
type features struct {
	f    *graph.Batched
	c, k int
}

// newFeatures compiles the features for inputs of a shape each and directions v [K,P]. They
// need at most limit bytes beside v.
func newFeatures(net layers.Network, input []int, v *tensor.Dense, limit int64) (*features, error) {
	var b *graph.Builder
	var x, out, phi *graph.Node
	_, _, err := graph.Tile("ella: the features of inputs", PredictBatch, max(1, limit), func(size int) (int64, error) {
		var err error
		if b, x, out, phi, err = written(net, input, v, size); err != nil {
			return 0, err
		}
		bytes, err := graph.Plan(b, []*graph.Node{out, phi}, graph.Options{Varying: []*graph.Node{x}})
		return int64(bytes), err
	})
	if err != nil {
		return nil, err
	}
	f, err := graph.NewBatched(b, x, out, phi)
	if err != nil {
		return nil, err
	}
	f.Limit(limit)
	return &features{f: f, c: out.Shape()[1], k: v.Shape()[0]}, nil
}

// written writes the network's outputs and φ for size inputs at a time.
func written(net layers.Network, input []int, v *tensor.Dense, size int) (b *graph.Builder, x, out, phi *graph.Node, err error) {
	b = graph.NewBuilder(v.Dtype())
	x = b.Input("x", append([]int{size}, input...)...)
	if out = net.Forward(b, x); b.Err() != nil {
		return nil, nil, nil, nil, b.Err()
	}
	if s := out.Shape(); len(s) != 2 || s[0] != size {
		return nil, nil, nil, nil, fmt.Errorf("the network maps shape %v to %v, expected [B,…] to [B,C]", x.Shape(), s)
	}
	return b, x, out, along(b, net, x, out, v), nil
}

// each calls visit, batch by batch in order, with the number of the first input, the
// network's outputs [n,C] and the features [n,C,K]. The slices are visit's to keep.
func (f *features) each(ctx context.Context, x *tensor.Dense, visit func(first int, mean, phi []float64) error) error {
	if x.Dims() < 2 || slices.Min(x.Shape()) == 0 {
		return errors.New("0 inputs, expected [N,…], N ≥ 1")
	}
	return f.f.Each(ctx, x, func(first, n int, out []*tensor.Dense) error {
		return visit(first, graph.Floats(out[0])[:n*f.c], graph.Floats(out[1])[:n*f.c*f.k])
	})
}
