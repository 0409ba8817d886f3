package graph

import (
	"fmt"
	"hash"
	"hash/fnv"
	"reflect"
	"slices"
	"strconv"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// applied is an Op at fixed shapes, as Gorgonia's graph holds it: a gorgonia.Op and a
// gorgonia.SDOp.
type applied struct {
	Op
	operands []*Node        // what the operation is applied to
	in       []tensor.Shape // of the operands
	out      tensor.Shape   // of the result
	dt       tensor.Dtype   // of operands and result
	salt     int            // separates nodes that Gorgonia's 32-bit hash would merge
	key      string         // of Op, which may take long to write
	hash     uint32         // of every attribute, see setHash
}

var (
	_ gorgonia.SDOp            = (*applied)(nil)
	_ gorgonia.UsePreallocDoer = (*applied)(nil)
)

// is reports whether an operation of Gorgonia's is the same as o: the attributes that
// shapes do not tell are in the key.
func (o *applied) is(other gorgonia.Op) bool {
	a, ok := other.(*applied)
	return ok && reflect.TypeOf(a.Op) == reflect.TypeOf(o.Op) && a.Key() == o.Key()
}

// typeOf is Gorgonia's type of an array; scalars have their own.
func typeOf(dt tensor.Dtype, s tensor.Shape) hm.Type {
	if len(s) == 0 {
		return dt
	}
	return gorgonia.TensorType{Dims: len(s), Of: dt}
}

// Arity implements gorgonia.Op.
func (o *applied) Arity() int { return len(o.in) }

// Type implements gorgonia.Op.
func (o *applied) Type() hm.Type {
	types := make([]hm.Type, 0, len(o.in)+1)
	for _, s := range o.in {
		types = append(types, typeOf(o.dt, s))
	}
	return hm.NewFnType(append(types, typeOf(o.dt, o.out))...)
}

// InferShape implements gorgonia.Op.
func (o *applied) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	shapes, err := gorgonia.DimSizersToShapes(in)
	if err != nil {
		return nil, err
	}
	return o.Shape(shapes)
}

// Do implements gorgonia.Op: it allocates the result and runs the loops.
func (o *applied) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	return o.UsePreallocDo(newValue(o.dt, o.out), in...)
}

// UsePreallocDo implements gorgonia.UsePreallocDoer.
func (o *applied) UsePreallocDo(out gorgonia.Value, in ...gorgonia.Value) (gorgonia.Value, error) {
	var err error
	if o.dt == tensor.Float64 {
		err = runOnValues[float64](o, out, in)
	} else {
		err = runOnValues[float32](o, out, in)
	}
	if err != nil {
		return nil, fmt.Errorf("graph: %s: %w", o.Key(), err)
	}
	return out, nil
}

// DiffWRT implements gorgonia.SDOp: every input may be differentiated.
func (o *applied) DiffWRT(n int) []bool { return slices.Repeat([]bool{true}, n) }

// SymDiff implements gorgonia.SDOp, so that Gorgonia's tools see our derivatives.
func (o *applied) SymDiff(in gorgonia.Nodes, out, ct *Node) (gorgonia.Nodes, error) {
	b := of(out)
	cts := make(gorgonia.Nodes, len(in))
	for i := range in {
		if cts[i] = o.Pullback(b, i, in, out, ct); cts[i] == nil && b.err == nil {
			cts[i] = b.zeros(in[i])
		}
	}
	return cts, b.err
}

// ReturnsPtr implements gorgonia.Op.
func (o *applied) ReturnsPtr() bool { return true }

// CallsExtern implements gorgonia.Op.
func (o *applied) CallsExtern() bool { return false }

// OverwritesInput implements gorgonia.Op: no input is overwritten.
func (o *applied) OverwritesInput() int { return -1 }

// Key implements Op.
func (o *applied) Key() string { return o.key }

// setHash hashes every attribute, with the shapes.
func (o *applied) setHash() {
	var short [256]byte // of most operations; append moves a longer text
	text := append(short[:0], "valla "...)
	for _, s := range [...]string{reflect.TypeOf(o.Op).String(), o.key, o.dt.String()} {
		text = append(append(text, s...), ' ')
	}
	for _, s := range o.in {
		text = appendShape(text, s)
	}
	text = appendShape(appendShape(text, o.out), tensor.Shape{o.salt})
	h := fnv.New32a()
	h.Write(text) // of a hash.Hash: it returns no error
	o.hash = h.Sum32()
}

// appendShape writes the numbers of a shape.
func appendShape(text []byte, s tensor.Shape) []byte {
	for _, n := range s {
		text = append(strconv.AppendInt(text, int64(n), 10), ' ')
	}
	return append(text, ';')
}

// WriteHash implements gorgonia.Op; every attribute counts.
func (o *applied) WriteHash(h hash.Hash) {
	h.Write([]byte{byte(o.hash), byte(o.hash >> 8), byte(o.hash >> 16), byte(o.hash >> 24)}) // of a hash.Hash: it returns no error
}

// Hashcode implements gorgonia.Op.
func (o *applied) Hashcode() uint32 { return o.hash }

// String implements fmt.Stringer.
func (o *applied) String() string { return o.Key() }
