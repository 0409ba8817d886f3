package valla

import (
	"fmt"
	"hash"
	"hash/fnv"
	"slices"

	"github.com/chewxy/hm"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// hostCall is an operation that hands the values of its operands, all tensors, to a Go
// function in the middle of a program's run. It has no derivative: it is for the
// cotangents of a reverse pass that are computed outside of the graph, here in float64
// whatever the graph holds.
type hostCall struct {
	name string
	in   []tensor.Shape
	out  tensor.Shape
	dt   tensor.Dtype
	f    func(in [][]float64) ([]float64, error)
}

var _ gorgonia.Op = (*hostCall)(nil)

// callHost adds a node of shape out whose value is f's result for the values of in.
func callHost(b *graph.Builder, name string, out []int, f func(in [][]float64) ([]float64, error), in ...*graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	o := &hostCall{name: name, out: out, dt: b.Dtype(), f: f}
	for _, n := range in {
		o.in = append(o.in, n.Shape())
	}
	return gorgonia.NewUniqueNode(gorgonia.WithType(o.typeOf(o.out)), gorgonia.WithOp(o),
		gorgonia.WithChildren(slices.Clone(in)), gorgonia.In(b.Graph()), gorgonia.WithShape(out...))
}

func (o *hostCall) typeOf(s tensor.Shape) hm.Type {
	return gorgonia.TensorType{Dims: len(s), Of: o.dt}
}

// Arity implements gorgonia.Op.
func (o *hostCall) Arity() int { return len(o.in) }

// Type implements gorgonia.Op.
func (o *hostCall) Type() hm.Type {
	var types []hm.Type
	for _, s := range o.in {
		types = append(types, o.typeOf(s))
	}
	return hm.NewFnType(append(types, o.typeOf(o.out))...)
}

// InferShape implements gorgonia.Op.
func (o *hostCall) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) { return o.out, nil }

// Do implements gorgonia.Op.
func (o *hostCall) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	values := make([][]float64, len(in))
	for i, v := range in {
		values[i] = graph.Floats(v.(*tensor.Dense))
	}
	out, err := o.f(values)
	if err != nil {
		return nil, err
	}
	return graph.Convert(tensor.New(tensor.WithShape(o.out...), tensor.WithBacking(out)), o.dt), nil
}

// ReturnsPtr implements gorgonia.Op.
func (o *hostCall) ReturnsPtr() bool { return true }

// CallsExtern implements gorgonia.Op.
func (o *hostCall) CallsExtern() bool { return false }

// OverwritesInput implements gorgonia.Op: no operand is overwritten.
func (o *hostCall) OverwritesInput() int { return -1 }

// WriteHash implements gorgonia.Op. No two calls are alike.
func (o *hostCall) WriteHash(h hash.Hash) { fmt.Fprintf(h, "valla host call %s %p", o.name, o) }

// Hashcode implements gorgonia.Op.
func (o *hostCall) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

// String implements fmt.Stringer.
func (o *hostCall) String() string { return o.name }
