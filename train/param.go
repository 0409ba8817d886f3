package train

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/internal/kernel"

	"gorgonia.org/tensor"
)

// Param is one trainable parameter. Value and Grad have the same shape and the
// same element type, float32 or float64, and are row-major and contiguous. The
// objective fills Grad; an optimizer changes Value in place.
type Param struct {
	Name        string        // unique within a run
	Value, Grad *tensor.Dense // of the same shape and element type
	NoDecay     bool          // the weight decay of an optimizer leaves the parameter alone
}

// String returns the name, the element type and the shape.
func (p Param) String() string {
	return fmt.Sprintf("%s %v %v", p.Name, p.Value.Dtype(), p.Value.Shape())
}

// check returns an error for a parameter that optimizers cannot work on.
func (p Param) check() error {
	if p.Value == nil || p.Grad == nil {
		return fmt.Errorf("train: parameter %q lacks its value or its gradient", p.Name)
	}
	switch dtype := p.Value.Dtype(); {
	case dtype != tensor.Float32 && dtype != tensor.Float64:
		return fmt.Errorf("train: parameter %s, expected float32 or float64", p)
	case p.Value.Shape().TotalSize() == 0:
		return fmt.Errorf("train: parameter %s is empty", p)
	case !alike(p.Value, p.Grad):
		return fmt.Errorf("train: parameter %s has a gradient of %v %v, expected the same", p, p.Grad.Dtype(), p.Grad.Shape())
	case !plain(p.Value) || !plain(p.Grad):
		return fmt.Errorf("train: parameter %s or its gradient is a view, transposed or column-major, expected plain row-major memory", p)
	}
	return nil
}

// checkParams checks every parameter and that their names can tell them apart.
func checkParams(params []Param) error {
	if len(params) == 0 {
		return fmt.Errorf("train: no parameters")
	}
	seen := make(map[string]bool, len(params))
	for i, p := range params {
		if p.Name == "" || seen[p.Name] {
			return fmt.Errorf("train: parameter %d: name %q is empty or taken, expected unique names", i, p.Name)
		}
		seen[p.Name] = true
		if err := p.check(); err != nil {
			return err
		}
	}
	return nil
}

// alike reports whether a and b have the same shape and element type.
func alike(a, b *tensor.Dense) bool {
	return a.Dtype() == b.Dtype() && slices.Equal(a.Shape(), b.Shape())
}

// plain reports whether t holds its elements in row-major order and nothing else.
func plain(t *tensor.Dense) bool {
	if t.RequiresIterator() || t.DataOrder().IsColMajor() && t.Dims() > 1 {
		return false
	}
	return t.MemSize() == uintptr(t.Shape().TotalSize())*t.Dtype().Size()
}

// floats returns the elements of a plain tensor of T, without copying.
func floats[T kernel.Float](t *tensor.Dense) []T {
	var zero T
	if _, ok := any(zero).(float32); ok {
		return any(t.Float32s()).([]T)
	}
	return any(t.Float64s()).([]T)
}

// zerosLike returns a new tensor of zeros with the shape and type of t.
func zerosLike(t *tensor.Dense) *tensor.Dense {
	return tensor.New(tensor.Of(t.Dtype()), tensor.WithShape(t.Shape().Clone()...))
}

// copyInto copies the elements of src to dst, two plain tensors that are alike.
func copyInto(dst, src *tensor.Dense) {
	if dst.Dtype() == tensor.Float32 {
		copy(floats[float32](dst), floats[float32](src))
		return
	}
	copy(floats[float64](dst), floats[float64](src))
}

// clones returns plain copies of plain tensors.
func clones(ts []*tensor.Dense) []*tensor.Dense {
	out := make([]*tensor.Dense, len(ts))
	for i, t := range ts {
		out[i] = zerosLike(t)
		copyInto(out[i], t)
	}
	return out
}
