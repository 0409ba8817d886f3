package graph

import (
	"fmt"

	"gorgonia.org/tensor"
)

// Batch computes nodes for up to B examples at a time, the examples of an input x [B,…]. A run
// allocates nothing. A Batch is not safe for concurrent use; one graph may have several Batches.
type Batch struct {
	p     *Program
	x     *tensor.Dense // [B,…], read by the program
	size  int           // B
	width int           // elements of one example
	vals  []*tensor.Dense
}

// NewBatchWithin compiles outputs, whose axis 0 is the batch, as functions of x [B,…]. Parts that
// do not depend on x are computed once and again after each Refresh. The error is a *MemoryError
// if the batch would hold more than limit bytes; 0 is no limit.
func NewBatchWithin(limit int64, b *Builder, x *Node, outputs ...*Node) (*Batch, error) {
	d, err := NewDraft(b, outputs, Options{Varying: []*Node{x}})
	if err != nil {
		return nil, err
	}
	if need := d.Bytes() + int64(x.Shape().TotalSize())*int64(x.Dtype().Size()); limit > 0 && need > limit {
		return nil, &MemoryError{What: fmt.Sprintf("a prediction of %d examples", x.Shape()[0]), Need: need, Limit: limit}
	}
	return draftedBatch(d, x, outputs)
}

// draftedBatch returns the batch of a draft.
func draftedBatch(d *Draft, x *Node, outputs []*Node) (*Batch, error) {
	p, err := d.Compile()
	if err != nil {
		return nil, err
	}
	return batchOf(p, x, outputs)
}

// batchOf returns the batch that p computes.
func batchOf(p *Program, x *Node, outputs []*Node) (*Batch, error) {
	f := &Batch{p: p, size: x.Shape()[0], x: tensor.New(tensor.Of(x.Dtype()), tensor.WithShape(x.Shape()...))}
	f.width = x.Shape().TotalSize() / f.size
	if err := p.Bind(x, f.x); err != nil {
		return nil, err
	}
	for _, n := range outputs {
		if n.Dims() == 0 || n.Shape()[0] != f.size {
			return nil, fmt.Errorf("graph: batched output has shape %v, expected [%d,…]", n.Shape(), f.size)
		}
		f.vals = append(f.vals, p.Value(n))
	}
	return f, nil
}

// Size returns B.
func (f *Batch) Size() int { return f.size }

// Width returns the number of elements of one example.
func (f *Batch) Width() int { return f.width }

// Bytes returns the memory that the batch holds, leaves other than x not counted.
func (f *Batch) Bytes() int { return f.p.Bytes() + f.size*f.width*int(f.x.Dtype().Size()) }

// Refresh makes the next run compute the parts again that do not depend on x.
func (f *Batch) Refresh() { f.p.Refresh() }

// Run computes the outputs at the examples x [n·width], 1 ≤ n ≤ B, which are rounded to the
// element type of the graph, and returns their values, whose first n rows count. The next run
// overwrites them.
func (f *Batch) Run(x []float64) ([]*tensor.Dense, error) {
	if n := len(x) / f.width; len(x)%f.width != 0 || n < 1 || n > f.size {
		return nil, fmt.Errorf("graph: %d numbers, expected 1 to %d examples of %d each", len(x), f.size, f.width)
	}
	if f.x.Dtype() == tensor.Float64 {
		fill(f.x.Float64s(), x, f.width)
	} else {
		fill(f.x.Float32s(), x, f.width)
	}
	return f.vals, f.p.Run()
}

// load puts the examples from number first on where the program reads them, n at most.
func (f *Batch) load(data *tensor.Dense, first, n int) {
	lo, hi := first*f.width, (first+n)*f.width
	if data.Dtype() == tensor.Float64 {
		fill(f.x.Float64s(), data.Float64s()[lo:hi], f.width)
	} else {
		fill(f.x.Float32s(), data.Float32s()[lo:hi], f.width)
	}
}

// fill converts rows and repeats the last one to the end of dst.
func fill[T, F float32 | float64](dst []T, rows []F, width int) {
	for i, v := range rows {
		dst[i] = T(v)
	}
	for n := len(rows); n < len(dst); n += width {
		copy(dst[n:n+width], dst[len(rows)-width:])
	}
}
