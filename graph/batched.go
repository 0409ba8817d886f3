package graph

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// Batched evaluates nodes for any number of examples, in batches, through one
// program whose batch size is that of the input x. The last batch is filled up
// with copies of its last example, whose results are not handed on.
type Batched struct {
	p       *Program
	size    int
	width   int // elements of one example
	buf     *tensor.Dense
	outputs []*Node
	vals    []*tensor.Dense
}

// NewBatched compiles outputs, whose axis 0 is the batch, as functions of x [B,…].
// What does not depend on x is computed once, until Refresh.
func NewBatched(b *Builder, x *Node, outputs ...*Node) (*Batched, error) {
	p, err := Compile(b, outputs, Options{Varying: []*Node{x}})
	if err != nil {
		return nil, err
	}
	f := &Batched{p: p, size: x.Shape()[0], outputs: outputs}
	f.width = x.Shape().TotalSize() / f.size
	f.buf = tensor.New(tensor.Of(x.Dtype()), tensor.WithShape(x.Shape()...))
	for _, n := range outputs {
		if n.Dims() == 0 || n.Shape()[0] != f.size {
			return nil, fmt.Errorf("graph: batched output has shape %v, expected [%d,…]", n.Shape(), f.size)
		}
		f.vals = append(f.vals, p.Value(n))
	}
	return f, p.Bind(x, f.buf)
}

// Refresh makes the next Each compute again what does not depend on the input.
func (f *Batched) Refresh() { f.p.Refresh() }

// Each runs over the examples of data [N,…], of the input's element type, and
// calls visit with the first example's number, how many there are, and the values
// of the outputs, whose first n rows count. The values are overwritten by the next
// batch. It ends with visit's error, or ctx's.
func (f *Batched) Each(ctx context.Context, data *tensor.Dense, visit func(first, n int, out []*tensor.Dense) error) error {
	total, err := f.check(data)
	if err != nil {
		return err
	}
	for first := 0; first < total; first += f.size {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(f.size, total-first)
		f.load(data, first, n)
		if err := f.p.Run(); err != nil {
			return err
		}
		if err := visit(first, n, f.vals); err != nil {
			return err
		}
	}
	return nil
}

// check returns how many examples data holds.
func (f *Batched) check(data *tensor.Dense) (int, error) {
	want := f.buf.Shape()
	got := data.Shape()
	if len(got) != len(want) || !got[1:].Eq(want[1:]) || data.Dtype() != f.buf.Dtype() {
		return 0, fmt.Errorf("graph: inputs are %v of shape %v, expected %v of shape [N,…] with %v for each example",
			data.Dtype(), got, f.buf.Dtype(), want[1:])
	}
	if data.RequiresIterator() || data.DataOrder().IsColMajor() {
		return 0, fmt.Errorf("graph: inputs of shape %v are not contiguous and row-major", got)
	}
	return got[0], nil
}

func (f *Batched) load(data *tensor.Dense, first, n int) {
	if data.Dtype() == tensor.Float64 {
		fill(f.buf.Float64s(), data.Float64s()[first*f.width:(first+n)*f.width], f.width)
	} else {
		fill(f.buf.Float32s(), data.Float32s()[first*f.width:(first+n)*f.width], f.width)
	}
}

// fill copies rows and repeats the last one to the end of dst.
func fill[T kernel.Float](dst, rows []T, width int) {
	for n := copy(dst, rows); n < len(dst); n += width {
		copy(dst[n:], rows[len(rows)-width:])
	}
}
