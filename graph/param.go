package graph

import (
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// Param is a named array that a network or a posterior owns. Many graphs may use
// it; in each graph [Builder.Param] gives its node, bound to Value itself, so
// that an optimizer that updates Value in place is seen by every program.
type Param struct {
	Name  string        // unique within a graph
	Value *tensor.Dense // contiguous, row-major, at least one dimension
}

// NewParam returns a parameter of the given shape with the elements v, row-major.
func NewParam(name string, v []float64, dt tensor.Dtype, shape ...int) *Param {
	return &Param{Name: name, Value: newDense(dt, v, shape)}
}

// Copy returns a copy of p with the element type dt, nil for nil.
func (p *Param) Copy(dt tensor.Dtype) *Param {
	if p == nil {
		return nil
	}
	return &Param{Name: p.Name, Value: Convert(p.Value, dt)}
}

// At returns element i in row-major order.
func (p *Param) At(i int) float64 {
	if p.Value.Dtype() == tensor.Float64 {
		return p.Value.Float64s()[i]
	}
	return float64(p.Value.Float32s()[i])
}

// Set sets element i in row-major order.
func (p *Param) Set(i int, v float64) {
	if p.Value.Dtype() == tensor.Float64 {
		p.Value.Float64s()[i] = v
	} else {
		p.Value.Float32s()[i] = float32(v)
	}
}

// Floats returns a copy of the elements as float64.
func (p *Param) Floats() []float64 { return Floats(p.Value) }

// Flat returns the elements of parameters, one after the other.
func Flat(params []*Param) []float64 {
	var out []float64
	for _, p := range params {
		out = append(out, p.Floats()...)
	}
	return out
}

// Unflat is the inverse of Flat.
func Unflat(params []*Param, v []float64) {
	k := 0
	for _, p := range params {
		for i := range p.Value.Shape().TotalSize() {
			p.Set(i, v[k])
			k++
		}
	}
}

// Floats returns a copy of the elements of a float32 or float64 tensor.
func Floats(t *tensor.Dense) []float64 {
	if t.Dtype() == tensor.Float64 {
		return append([]float64(nil), t.Float64s()...)
	}
	return converted[float32, float64](t.Float32s())
}

// FirstNonFinite returns the row-major index and the value of the first element of a float32
// or float64 tensor that is NaN or infinite, or −1 and 0.
func FirstNonFinite(t *tensor.Dense) (int, float64) {
	if t.Dtype() == tensor.Float64 {
		return kernel.FirstNonFinite(t.Float64s())
	}
	i, v := kernel.FirstNonFinite(t.Float32s())
	return i, float64(v)
}

// Convert returns a copy of t, float32 or float64, with element type dt.
func Convert(t *tensor.Dense, dt tensor.Dtype) *tensor.Dense {
	return newDense(dt, Floats(t), t.Shape())
}
