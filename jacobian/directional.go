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
	f    *graph.Batched // the outputs and their derivatives
	c, k int            // outputs and directions
}

// NewDirectional compiles a network, for inputs of a shape each, and its derivatives along the
// rows of v [K,P], which is read by reference. A batch of inputs is computed at a time, or a
// whole fraction of it where that needs more than limit bytes. If one input needs more, the
// error is a *graph.MemoryError.
func NewDirectional(net layers.Network, input []int, v *tensor.Dense, batch int, limit int64) (*Directional, error) {
	f, err := graph.NewBatchedWithin("the derivatives along directions", batch, limit, func(size int) (graph.Pass, error) {
		b, x, out, along, err := written(net, input, v, size)
		return graph.Pass{Builder: b, X: x, Outputs: []*graph.Node{out, along}}, err
	})
	if err != nil {
		return nil, err
	}
	return &Directional{f: f, c: f.Width(0), k: v.Shape()[0]}, nil
}

// written writes the network's outputs and derivatives for size inputs at a time.
func written(net layers.Network, input []int, v *tensor.Dense, size int) (b *graph.Builder, x, out, slopes *graph.Node, err error) {
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

// DirectionalBatch is a Directional for a few inputs at a time, which allocates nothing in a run.
// It serves one goroutine at a time.
type DirectionalBatch struct {
	f     *graph.Batch // the outputs and their derivatives
	c     int          // outputs
	along []float64    // [size,C,K]
}

// NewDirectionalBatch compiles a DirectionalBatch for up to size inputs. If it would hold more
// than limit bytes the error is a *graph.MemoryError; 0 is no limit.
func NewDirectionalBatch(net layers.Network, input []int, v *tensor.Dense, size int, limit int64) (*DirectionalBatch, error) {
	b, x, out, along, err := written(net, input, v, size)
	if err != nil {
		return nil, err
	}
	f, err := graph.NewBatchWithin(limit, b, x, out, along)
	if err != nil {
		return nil, err
	}
	return &DirectionalBatch{f: f, c: out.Shape()[1], along: make([]float64, along.Shape().TotalSize())}, nil
}

// Outputs returns C.
func (f *DirectionalBatch) Outputs() int { return f.c }

// Bytes returns the memory that the batch holds.
func (f *DirectionalBatch) Bytes() int64 { return int64(f.f.Bytes() + 8*len(f.along)) }

// Run returns the number n of the inputs x [n·D], the network's outputs, whose first n rows
// count, and the derivatives [n,C,K]. The next run overwrites them.
func (f *DirectionalBatch) Run(x []float64) (n int, out *tensor.Dense, along []float64, err error) {
	all, err := f.f.Run(x)
	if err != nil {
		return 0, nil, nil, err
	}
	if all[1].Dtype() == tensor.Float64 {
		copy(f.along, all[1].Float64s())
	} else {
		for i, v := range all[1].Float32s() {
			f.along[i] = float64(v)
		}
	}
	n = len(x) / f.f.Width()
	return n, all[0], f.along[:len(f.along)/f.f.Size()*n], nil
}
