package gptest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fault"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/strictjson"
	"gorgonia.org/tensor"
)

// Saved holds a gp.State in memory as a file would. Tests may spoil what is in it.
type Saved struct {
	JSON   []byte                   // the header
	Arrays map[string]*tensor.Dense // by name
}

var _ gp.Saved = (*Saved)(nil)

// Memory saves a copy of a state. A header that JSON cannot hold and two arrays of one
// name are errors.
func Memory(s gp.State) (*Saved, error) {
	text, err := json.Marshal(s.Header)
	if err != nil {
		return nil, fmt.Errorf("gptest: header: %w", err)
	}
	out := &Saved{text, map[string]*tensor.Dense{}}
	for _, a := range s.Arrays {
		if out.Arrays[a.Name] != nil {
			return nil, fmt.Errorf("gptest: two arrays are called %q", a.Name)
		}
		out.Arrays[a.Name] = clone(a.Value)
	}
	return out, nil
}

// Clone returns a copy that shares nothing with s.
func (s *Saved) Clone() *Saved {
	out := &Saved{slices.Clone(s.JSON), map[string]*tensor.Dense{}}
	for name, a := range s.Arrays {
		out.Arrays[name] = clone(a)
	}
	return out
}

func clone(t *tensor.Dense) *tensor.Dense { return t.Clone().(*tensor.Dense) }

// Names lists the names of the arrays in order.
func (s *Saved) Names() []string { return slices.Sorted(maps.Keys(s.Arrays)) }

// Header implements gp.Saved.
func (s *Saved) Header(v any) error {
	return fault.In("gptest: header", strictjson.Decode(s.JSON, v))
}

// Array implements gp.Saved. The array is a copy.
func (s *Saved) Array(name string, dt tensor.Dtype, shape ...int) (*tensor.Dense, error) {
	a := s.Arrays[name]
	if a == nil {
		return nil, fmt.Errorf("gptest: no array %q", name)
	}
	if a.Dtype() != dt || !slices.Equal(a.Shape(), shape) {
		return nil, fmt.Errorf("gptest: array %q holds %v of shape %v, expected %v of shape %v", name, a.Dtype(), a.Shape(), dt, tensor.Shape(shape))
	}
	for i, v := range graph.Floats(a) {
		if !kernel.Finite(v) {
			return nil, fmt.Errorf("gptest: array %q: element %d is %g", name, i, v)
		}
	}
	return clone(a), nil
}
