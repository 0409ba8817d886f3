package laplace

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// inputs are n finite inputs of the given shape each, row-major.
type inputs struct {
	v     []float64
	n     int
	shape tensor.Shape // of one
}

// data are the training examples.
type data struct {
	x          inputs
	y          []float64 // [n·outputs]
	n, outputs int
}

func newData(x, y *tensor.Dense) (data, error) {
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
	return data{x: in, y: targets.v, n: in.n, outputs: targets.shape[0]}, nil
}

// newInputs checks t, [N,…], and copies it.
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
	in := inputs{v: graph.Floats(t), n: t.Shape()[0], shape: slices.Clone(t.Shape()[1:])}
	if i := notFinite(in.v); i >= 0 {
		return inputs{}, fmt.Errorf("laplace: %s: element %d of example %d is %g", name, i%in.size(), i/in.size(), in.v[i])
	}
	return in, nil
}

// size is the number of elements of one input.
func (in inputs) size() int { return in.shape.TotalSize() }

// notFinite returns the index of the first NaN or infinity, or -1.
func notFinite(v []float64) int {
	return slices.IndexFunc(v, func(f float64) bool { return math.IsNaN(f) || math.IsInf(f, 0) })
}
