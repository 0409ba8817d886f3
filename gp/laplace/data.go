package laplace

import (
	"fmt"
	"math/rand/v2"
	"slices"

	sets "github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// inputs holds n finite inputs, or targets, of the given shape each.
type inputs struct {
	t     *tensor.Dense // row-major
	n     int           // number of inputs
	shape tensor.Shape  // of one
}

// data are the training examples.
type data struct {
	x, y       inputs // the inputs [N,…] and the targets [N,C]
	n, outputs int    // N and C
}

func newData(x, y *tensor.Dense, o options) (data, error) {
	in, err := newInputs("x", x)
	if err != nil {
		return data{}, err
	}
	targets, err := newInputs("y", y)
	if err != nil {
		return data{}, err
	}
	if len(targets.shape) != 1 || targets.n != in.n {
		return data{}, fmt.Errorf("laplace: x has shape %v, y has shape %v; expected [N,…] and [N,C]", x.Shape(), y.Shape())
	}
	d := data{x: in, y: targets, n: in.n, outputs: targets.shape[0]}
	if _, classes := o.Likelihood.(likelihood.Softmax); classes {
		if err := d.checkOneHot(); err != nil {
			return data{}, err
		}
	}
	return d.subset(o.Subset, o.Seed)
}

// newInputs checks the tensor t [N,…].
func newInputs(name string, t *tensor.Dense) (inputs, error) {
	switch {
	case t == nil || t.Dims() > 0 && slices.Min(t.Shape()) == 0:
		return inputs{}, fmt.Errorf("laplace: %s is empty", name)
	case t.Dims() < 2:
		return inputs{}, fmt.Errorf("laplace: %s has shape %v, expected at least two dimensions, examples first", name, t.Shape())
	case t.Dtype() != tensor.Float32 && t.Dtype() != tensor.Float64:
		return inputs{}, fmt.Errorf("laplace: %s holds %v, expected float32 or float64", name, t.Dtype())
	case t.RequiresIterator() || t.DataOrder().IsColMajor():
		return inputs{}, fmt.Errorf("laplace: %s of shape %v is a view that is not contiguous and row-major; clone it first", name, t.Shape())
	}
	in := inputs{t: t, n: t.Shape()[0], shape: slices.Clone(t.Shape()[1:])}
	if i, v := graph.FirstNonFinite(t); i >= 0 {
		return inputs{}, fmt.Errorf("laplace: %s: element %d of example %d is %v", name, i%in.size(), i/in.size(), v)
	}
	return in, nil
}

// size is the number of elements of one input.
func (in inputs) size() int { return in.shape.TotalSize() }

// rows copies the inputs first, …, first+n−1 to the front of dst.
func (in inputs) rows(dst []float64, first, n int) {
	dense.Copy(dst[:n*in.size()], in.t, first*in.size())
}

func copyRows[T kernel.Float](dst []T, in inputs, first, n int) {
	lo, hi := first*in.size(), (first+n)*in.size()
	if in.t.Dtype() == tensor.Float64 {
		convert(dst, in.t.Float64s()[lo:hi])
	} else {
		convert(dst, in.t.Float32s()[lo:hi])
	}
}

// convert copies all of src to the front of dst.
func convert[D, S kernel.Float](dst []D, src []S) {
	if same, ok := any(src).([]D); ok {
		copy(dst, same)
		return
	}
	for i, v := range src {
		dst[i] = D(v)
	}
}

// checkOneHot refuses targets of which a row is not 1 in one place and 0 elsewhere.
func (d data) checkOneHot() error {
	if d.outputs < 2 {
		return fmt.Errorf("laplace: y has shape %v, expected [N,C] with at least two classes", d.y.t.Shape())
	}
	row := make([]float64, d.outputs)
	for i := range d.n {
		d.y.rows(row, i, 1)
		if slices.Max(row) != 1 || slices.Min(row) != 0 || kernel.Sum(row) != 1 {
			return fmt.Errorf("laplace: y: example %d is %v, expected one 1 among zeros", i, row)
		}
	}
	return nil
}

// subset returns size examples, drawn at random. Size 0 stands for all, in their order.
func (d data) subset(size int, seed uint64) (data, error) {
	if size == 0 {
		return d, nil
	}
	if size < 0 || size > d.n {
		return d, fmt.Errorf("laplace: a subset of %d examples, expected 1 to %d", size, d.n)
	}
	chosen := rand.New(rand.NewPCG(seed, 0)).Perm(d.n)[:size]
	d.x, d.y, d.n = d.x.choose(chosen), d.y.choose(chosen), size
	return d, nil
}

// choose returns the inputs with the numbers rows, as a copy.
func (in inputs) choose(rows []int) inputs {
	return inputs{t: sets.TakeRows(in.t, rows), n: len(rows), shape: in.shape}
}
