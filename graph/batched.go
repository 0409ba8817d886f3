package graph

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// Batched evaluates nodes for any number of examples, in batches of the size of the
// input x. Batches that need little memory are evaluated beside each other, each on a
// thread of its own: that takes less time than to share out every operation.
type Batched struct {
	b       *Builder
	x       *Node
	outputs []*Node
	copies  []*batchProgram // one at least
	size    int
	width   int // elements of one example
	limit   int // of bytes that copies may hold together
}

// beside is the largest number of bytes that programs which run beside each other may hold
// together.
const beside = 64 << 20

// NewBatched compiles outputs, whose axis 0 is the batch, as functions of x [B,…].
// Parts that do not depend on x are computed once and again after each Refresh.
func NewBatched(b *Builder, x *Node, outputs ...*Node) (*Batched, error) {
	if b.Err() != nil {
		return nil, b.Err()
	}
	f := &Batched{b: b, x: x, outputs: outputs, size: x.Shape()[0], limit: beside}
	f.width = x.Shape().TotalSize() / f.size
	if err := f.grow(1); err != nil {
		return nil, err
	}
	for _, n := range outputs {
		if n.Dims() == 0 || n.Shape()[0] != f.size {
			return nil, fmt.Errorf("graph: batched output has shape %v, expected [%d,…]", n.Shape(), f.size)
		}
	}
	return f, nil
}

// grow compiles copies until there are n.
func (f *Batched) grow(n int) error {
	for len(f.copies) < n {
		p, err := Compile(f.b, f.outputs, Options{Varying: []*Node{f.x}})
		if err != nil {
			return err
		}
		c := &batchProgram{p: p, buf: tensor.New(tensor.Of(f.x.Dtype()), tensor.WithShape(f.x.Shape()...))}
		if err := p.Bind(f.x, c.buf); err != nil {
			return err
		}
		for _, n := range f.outputs {
			c.vals = append(c.vals, p.Value(n))
		}
		f.copies = append(f.copies, c)
	}
	return nil
}

// Width returns how many elements output i has for one example.
func (f *Batched) Width(i int) int { return f.outputs[i].Shape().TotalSize() / f.size }

// Limit lowers the bound of the memory, in bytes, for batches that are evaluated beside each
// other; it is 64 MiB at first. A single batch at a time is never refused memory.
func (f *Batched) Limit(bytes int64) { f.limit = int(min(int64(f.limit), bytes)) }

// Refresh makes the next Each compute the parts again that do not depend on the input.
func (f *Batched) Refresh() {
	for _, c := range f.copies {
		c.p.Refresh()
	}
}

// Each runs over the examples of data [N,…], of the input's element type, and
// calls visit, batch by batch in order, with the first example's number, how many there
// are, and the values of the outputs, whose first n rows count. The last batch is filled
// up with copies of its last example. The values are overwritten by later batches. It
// ends with visit's error, or ctx's.
func (f *Batched) Each(ctx context.Context, data *tensor.Dense, visit func(first, n int, out []*tensor.Dense) error) error {
	total, err := f.check(data)
	if err != nil {
		return err
	}
	batches := (total + f.size - 1) / f.size
	if err := f.grow(min(kernel.Threads(), batches, f.limit/max(1, f.copies[0].p.Bytes()))); err != nil {
		return err
	}
	for done := 0; done < batches; {
		if err := ctx.Err(); err != nil {
			return err
		}
		now := batchRuns{f.copies[:min(len(f.copies), kernel.Threads(), batches-done)]}
		for i, c := range now.copies {
			c.first = (done + i) * f.size
			c.n = min(f.size, total-c.first)
			f.load(c, data)
		}
		kernel.Parallel(len(now.copies), now)
		for _, c := range now.copies {
			if c.err != nil {
				return c.err
			}
			if err := visit(c.first, c.n, c.vals); err != nil {
				return err
			}
		}
		done += len(now.copies)
	}
	return nil
}

// batchProgram computes one batch at a time.
type batchProgram struct {
	p        *Program
	buf      *tensor.Dense // x
	vals     []*tensor.Dense
	first, n int // the batch at hand
	err      error
}

// batchRuns is the kernel.Job of running programs.
type batchRuns struct{ copies []*batchProgram }

// Run implements kernel.Job.
func (r batchRuns) Run(part, _ int) { r.copies[part].err = r.copies[part].p.Run() }

// check returns how many examples data holds.
func (f *Batched) check(data *tensor.Dense) (int, error) {
	want := f.x.Shape()
	got := data.Shape()
	if len(got) != len(want) || !got[1:].Eq(want[1:]) || data.Dtype() != f.x.Dtype() {
		return 0, fmt.Errorf("graph: inputs are %v of shape %v, expected %v of shape [N,…] with %v for each example",
			data.Dtype(), got, f.x.Dtype(), want[1:])
	}
	if data.RequiresIterator() || data.DataOrder().IsColMajor() {
		return 0, fmt.Errorf("graph: inputs of shape %v are not contiguous and row-major", got)
	}
	return got[0], nil
}

// load puts a batch where its program reads it.
func (f *Batched) load(c *batchProgram, data *tensor.Dense) {
	lo, hi := c.first*f.width, (c.first+c.n)*f.width
	if data.Dtype() == tensor.Float64 {
		fill(c.buf.Float64s(), data.Float64s()[lo:hi], f.width)
	} else {
		fill(c.buf.Float32s(), data.Float32s()[lo:hi], f.width)
	}
}

// fill copies rows and repeats the last one to the end of dst.
func fill[T kernel.Float](dst, rows []T, width int) {
	for n := copy(dst, rows); n < len(dst); n += width {
		copy(dst[n:], rows[len(rows)-width:])
	}
}
