package graph

import (
	"fmt"
	"unsafe"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// newValue allocates a zero value as Gorgonia's machines expect it: a scalar type
// for the shape (), a tensor otherwise.
func newValue(dt tensor.Dtype, s tensor.Shape) gorgonia.Value {
	switch {
	case len(s) > 0:
		return tensor.New(tensor.Of(dt), tensor.WithShape(s...))
	case dt == tensor.Float64:
		return gorgonia.NewF64(0)
	default:
		return gorgonia.NewF32(0)
	}
}

// slice returns the elements of v without copying.
func slice[T kernel.Float](v gorgonia.Value) ([]T, error) {
	var data any
	switch v := v.(type) {
	case *tensor.Dense:
		if v.RequiresIterator() || v.DataOrder().IsColMajor() {
			return nil, fmt.Errorf("tensor of shape %v is not contiguous and row-major", v.Shape())
		}
		if v.Dtype() == tensor.Float64 {
			data = v.Float64s()
		} else if v.Dtype() == tensor.Float32 {
			data = v.Float32s()
		}
	case *gorgonia.F64:
		data = unsafe.Slice((*float64)(v), 1)
	case *gorgonia.F32:
		data = unsafe.Slice((*float32)(v), 1)
	}
	if s, ok := data.([]T); ok {
		return s, nil
	}
	return nil, fmt.Errorf("value of type %T (%v) where %T is expected", v, v.Dtype(), []T(nil))
}

// runOnValues runs an operation's loop from and to Gorgonia's values.
func runOnValues[T kernel.Float](o *applied, out gorgonia.Value, in []gorgonia.Value) error {
	f, err := loopOf[T](o.Op, o.in, o.out)
	if err != nil {
		return err
	}
	y, err := slice[T](out)
	if err != nil {
		return err
	}
	x := make([][]T, len(in))
	for i, v := range in {
		if x[i], err = slice[T](v); err != nil {
			return err
		}
	}
	return f(y, x)
}
