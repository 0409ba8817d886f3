package gapa

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"gorgonia.org/tensor"
)

// predictBatch is how many inputs go through the network at a time. Where that needs more
// memory than the limit, a whole fraction of it does.
const predictBatch = 100

// pass runs a network with a site for any number of inputs.
type pass struct {
	f *graph.Batched // computes u, the outputs and what a writer adds
	c int            // outputs
}

// writer writes what a pass computes of the inputs x [B,…] beside u [B,d] and the outputs.
type writer func(b *graph.Builder, x *graph.Node) []*graph.Node

// newPass compiles for inputs of a shape each: u [B,d], the outputs [B,C], and what more
// writes. It needs at most limit bytes.
func newPass(s shifted, input []int, limit int64, more writer) (*pass, error) {
	f, err := graph.NewBatchedWithin("the pass over inputs", predictBatch, limit, func(size int) (graph.Pass, error) {
		return s.write(input, size, more)
	})
	if err != nil {
		return nil, err
	}
	return &pass{f: f, c: f.Width(1)}, nil
}

// write writes what a pass computes of size inputs.
func (s shifted) write(input []int, size int, more writer) (graph.Pass, error) {
	b := graph.NewBuilder(s.shift.Value.Dtype())
	x := b.Input("x", append([]int{size}, input...)...)
	u, out := s.run(b, x)
	if b.Err() != nil {
		return graph.Pass{}, b.Err()
	}
	if o := out.Shape(); len(o) != 2 || o[0] != size {
		return graph.Pass{}, fmt.Errorf("the network maps shape %v to %v, expected [B,…] to [B,C]", x.Shape(), o)
	}
	return graph.Pass{Builder: b, X: x, Outputs: append([]*graph.Node{u, out}, more(b, x)...)}, b.Err()
}

// rows writes the derivatives of the outputs by the values at the site, [B,C,d].
func (s shifted) rows(b *graph.Builder, x *graph.Node) *graph.Node {
	all := jacobian.NTK{Net: s}.Rows(b, x)
	if b.Err() != nil {
		return nil
	}
	size := x.Shape()[0]
	return b.Reshape(all[0], size, all[0].Shape()[0]/size, s.width())
}

// derivatives is the writer of rows.
func (s shifted) derivatives(b *graph.Builder, x *graph.Node) []*graph.Node {
	return []*graph.Node{s.rows(b, x)}
}

// covariance returns the writer of J diag(c²) Jᵀ [B,C,C] for variances c² [d].
func (s shifted) covariance(stds []float64) writer {
	return func(b *graph.Builder, x *graph.Node) []*graph.Node {
		return []*graph.Node{b.Gram(b.Mul(s.rows(b, x), b.Const("gapa.stds", stds, len(stds))))}
	}
}

// nothing is the writer of nothing.
func nothing(*graph.Builder, *graph.Node) []*graph.Node { return nil }

// each calls visit, batch by batch in order, with the number of the first input, how many
// there are, and the values of all nodes, which later batches overwrite, for the inputs x, or the rows of x with some numbers, which
// are copied a few at a time.
func (p *pass) each(ctx context.Context, x *tensor.Dense, rows []int, visit func(first, n int, out []*tensor.Dense) error) error {
	if x.Dims() < 2 || slices.Min(x.Shape()) == 0 {
		return fmt.Errorf("inputs of shape %v, expected [N,…], N ≥ 1", x.Shape())
	}
	if rows == nil {
		return p.f.Each(ctx, x, visit)
	}
	const copied = 10 * predictBatch
	for from := 0; from < len(rows); from += copied {
		some := data.TakeRows(x, rows[from:min(from+copied, len(rows))])
		err := p.f.Each(ctx, some, func(first, n int, out []*tensor.Dense) error { return visit(from+first, n, out) })
		if err != nil {
			return err
		}
	}
	return nil
}
