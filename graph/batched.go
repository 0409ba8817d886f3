package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// Batched evaluates nodes for any number of examples, in batches of the size of the
// input x. Where the memory suffices, batches are evaluated beside each other, each on a
// thread of its own: that takes less time than to share out every operation. What does not depend on
// x is there once for all batches.
type Batched struct {
	x       *Node
	outputs []*Node
	copies  []*batchRun // one at least; the others are its twins
	twin    int         // bytes of a twin; 0: not known yet
	limit   int         // of bytes that copies may hold together
}

// beside is the largest number of bytes that programs which run beside each other may hold
// together.
const beside = 2 << 30

// NewBatched compiles outputs, whose axis 0 is the batch, as functions of x [B,…].
// Parts that do not depend on x are computed once and again after each Refresh.
func NewBatched(b *Builder, x *Node, outputs ...*Node) (*Batched, error) {
	d, err := NewDraft(b, outputs, Options{Varying: []*Node{x}})
	if err != nil {
		return nil, err
	}
	return d.Batched(x, outputs...)
}

// Batched is [NewBatched] of the outputs that the draft is of, of which x is to vary. It is called once, in place of Compile.
func (d *Draft) Batched(x *Node, outputs ...*Node) (*Batched, error) {
	first, err := draftedBatch(d, x, outputs)
	if err != nil {
		return nil, err
	}
	f := &Batched{x: x, outputs: outputs, limit: beside, copies: []*batchRun{{Batch: first}}}
	if slices.ContainsFunc(Ancestors(outputs...), isStock) {
		f.limit = 0 // operations of Gorgonia's own keep what they compute, so that copies would disturb each other
	}
	return f, nil
}

// grow compiles copies for so many batches, if there is memory for as many as can run at a time. All
// threads share each batch otherwise.
func (f *Batched) grow(batches int) error {
	first, want := f.copies[0].p, min(kernel.Threads(), batches)
	if want <= len(f.copies) {
		return nil
	}
	if f.twin == 0 {
		var err error
		if f.twin, err = first.twinBytes(); err != nil {
			return err
		}
		f.twin += int(f.copies[0].x.MemSize())
	}
	if f.copies[0].Bytes()+(want-1)*f.twin > f.limit {
		f.copies = f.copies[:1]
		return nil
	}
	for len(f.copies) < want {
		err := f.addTwin()
		if beyond := (*MemoryError)(nil); errors.As(err, &beyond) {
			f.copies, f.limit = f.copies[:1], 0 // the machine has no more, and is not asked again
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *Batched) addTwin() error {
	p, err := f.copies[0].p.twin()
	if err != nil {
		return err
	}
	c, err := batchOf(p, f.x, f.outputs)
	if err != nil {
		return err
	}
	f.copies = append(f.copies, &batchRun{Batch: c})
	return nil
}

// Width returns how many elements output i has for one example.
func (f *Batched) Width(i int) int { return f.outputs[i].Shape().TotalSize() / f.size() }

// Flops returns how many floating-point operations an example takes, see [Program.Flops].
func (f *Batched) Flops() int {
	_, each := f.copies[0].p.Flops()
	return each / f.size()
}

// size is B.
func (f *Batched) size() int { return f.copies[0].size }

// Limit lowers the bound of the memory, in bytes, for batches that are evaluated beside each
// other; it is 2 GiB at first. A single batch at a time is never refused memory.
func (f *Batched) Limit(bytes int64) {
	f.limit, f.copies = int(min(int64(f.limit), bytes)), f.copies[:1]
}

// Refresh makes the next Each compute the parts again that do not depend on the input.
func (f *Batched) Refresh() { f.copies[0].Refresh() }

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
	size := f.size()
	batches := (total + size - 1) / size
	if err := f.grow(batches); err != nil {
		return err
	}
	if err := f.copies[0].p.prime(); err != nil {
		return err
	}
	for done := 0; done < batches; {
		if err := ctx.Err(); err != nil {
			return err
		}
		now := batchRuns{f.copies[:min(len(f.copies), kernel.Threads(), batches-done)]}
		for i, c := range now.copies {
			c.first = (done + i) * size
			c.n = min(size, total-c.first)
			c.load(data, c.first, c.n)
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

// batchRun computes a single batch at a time.
type batchRun struct {
	*Batch
	first, n int // the batch at hand
	err      error
}

// batchRuns is the kernel.Job of batches that run beside each other.
type batchRuns struct{ copies []*batchRun }

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
