package gp

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fault"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/strictjson"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// CheckInputs returns the element type of net and the number C of its outputs for inputs of the
// shape input each, which a method's Restore has read from a header. It is an error if net has no
// parameters, if it does not take such inputs, or if it has not the given number of outputs; with
// outputs 0 any number will do.
func CheckInputs(net layers.Network, input []int, outputs int) (dt tensor.Dtype, c int, err error) {
	if len(net.Params()) == 0 {
		return dt, 0, errors.New("a network without parameters has no posterior")
	}
	if !positive(input) {
		return dt, 0, fmt.Errorf("inputs of shape %v, expected positive sizes", input)
	}
	dt = net.Params()[0].Value.Dtype()
	b := graph.NewBuilder(dt)
	out := net.Forward(b, b.Input("x", append([]int{1}, input...)...))
	if err := b.Err(); err != nil {
		return dt, 0, fmt.Errorf("inputs of shape %v: %w", input, err)
	}
	switch s := out.Shape(); {
	case len(s) != 2:
		return dt, 0, fmt.Errorf("a network with outputs of shape %v, expected [N,C]", s)
	case outputs > 0 && s[1] != outputs:
		return dt, 0, fmt.Errorf("a network with outputs of shape %v, expected [1,%d]", s, outputs)
	default:
		return dt, s[1], nil
	}
}

// positive reports whether a shape has sizes, all of them positive, whose product does not overflow.
func positive(shape []int) bool {
	size := 1
	for _, n := range shape {
		if n < 1 || n > math.MaxInt32/size {
			return false
		}
		size *= n
	}
	return len(shape) > 0
}

// CheckPositive returns an error that names the first of some numbers of a header that is not
// finite or not positive.
func CheckPositive(numbers ...Fact) error {
	for _, n := range numbers {
		if !(n.Value > 0) || !kernel.Finite(n.Value) {
			return fmt.Errorf("%s %g, expected a finite positive number", n.Name, n.Value)
		}
	}
	return nil
}

// Restored returns what a method's Restore returns: a posterior, or an error alone.
func Restored(p Stored, err error) (Stored, error) {
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Reader reads arrays of a file. After an error a Reader reads no more.
type Reader struct {
	Saved       // the file
	Err   error // the first error
}

// Read returns an array, see [Saved], and nil after an error.
func (r *Reader) Read(name string, dt tensor.Dtype, shape ...int) (v *tensor.Dense) {
	if r.Err == nil {
		v, r.Err = r.Array(name, dt, shape...)
	}
	return v
}

// Floats returns the elements of an array of float64, and nil after an error.
func (r *Reader) Floats(name string, shape ...int) []float64 {
	v := r.Read(name, tensor.Float64, shape...)
	if r.Err != nil {
		return nil
	}
	return v.Float64s()
}

// Param returns an array as a parameter.
func (r *Reader) Param(name string, dt tensor.Dtype, shape ...int) *graph.Param {
	return &graph.Param{Name: name, Value: r.Read(name, dt, shape...)}
}

// Add adds the arrays of one posterior of several to s, with prefix before their names, and returns the JSON text of its
// header, see [SavedPart].
func (s *State) Add(q Stored, prefix string) (json.RawMessage, error) {
	own, err := q.State()
	if err != nil {
		return nil, err
	}
	for _, a := range own.Arrays {
		s.Arrays = append(s.Arrays, Array{Name: prefix + a.Name, Value: a.Value})
	}
	return json.Marshal(own.Header)
}

// SavedPart returns a file's part for a single posterior of several: s without its header. In place
// of s's header the part has the JSON text header. The part has prefix before its arrays' names.
func SavedPart(s Saved, header json.RawMessage, prefix string) Saved {
	return savedPart{s, header, prefix}
}

// savedPart is the Saved of SavedPart.
type savedPart struct {
	Saved                  // the file of all parts
	header json.RawMessage // JSON text
	prefix string          // of the names of the arrays
}

// Header implements Saved.
func (p savedPart) Header(v any) error {
	return fault.In("header of a part", strictjson.Decode(p.header, v))
}

// Array implements Saved.
func (p savedPart) Array(name string, dt tensor.Dtype, shape ...int) (*tensor.Dense, error) {
	return p.Saved.Array(p.prefix+name, dt, shape...)
}
