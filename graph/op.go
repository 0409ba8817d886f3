package graph

import (
	"fmt"
	"hash"
	"hash/fnv"
	"slices"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// rule defines one operation. To add an operation, write a rule, a Builder method
// that applies it, and its row in graphtest.
type rule interface {
	// key names the operation and every attribute that tells two of them apart.
	key() string
	// shape returns the output's shape, or an error that names the shapes at fault.
	shape(in []tensor.Shape) (tensor.Shape, error)
	// pullback returns the cotangent of input i, given the cotangent ct of out;
	// nil means zero. It is written with operations of this package only.
	pullback(b *Builder, i int, in []*Node, out, ct *Node) *Node
	// rowWise reports whether row r of the output depends on row r alone of the
	// inputs marked as batched, and on no row of axis 0 of the others, however
	// many rows there are.
	rowWise(batched []bool, in []tensor.Shape) bool
	// kernels returns the typed loops for these shapes.
	kernels(in []tensor.Shape, out tensor.Shape) kernels
}

// kernels are the loops of one operation at fixed shapes. They write every element
// of y, do not allocate, and may be called from one goroutine at a time.
type kernels struct {
	f32 func(y []float32, x [][]float32) error
	f64 func(y []float64, x [][]float64) error
}

// op makes a rule at fixed shapes a gorgonia.Op and gorgonia.SDOp.
type op struct {
	rule
	in   []tensor.Shape
	out  tensor.Shape
	dt   tensor.Dtype
	salt int // separates nodes that Gorgonia's 32-bit hash would merge
}

var (
	_ gorgonia.SDOp            = (*op)(nil)
	_ gorgonia.UsePreallocDoer = (*op)(nil)
)

// apply adds the node r(in...) to the graph, or returns the equal node that is
// already there.
func (b *Builder) apply(r rule, in ...*Node) *Node {
	if !b.usable(r.key(), in...) {
		return nil
	}
	o := &op{rule: r, in: shapes(in), dt: b.dt}
	var err error
	if o.out, err = r.shape(o.in); err != nil {
		return b.Failf("graph: %s: %w", r.key(), err)
	}
	if !possible(o.out) {
		return b.Failf("graph: %s: shapes %v make shape %v, which is empty or too large", r.key(), o.in, o.out)
	}
	return b.add(o, in)
}

// usable reports whether nodes can be operands in b's graph, and fails b if not.
func (b *Builder) usable(what string, nodes ...*Node) bool {
	for i, n := range nodes {
		switch {
		case b.err != nil:
		case n == nil:
			b.Failf("graph: %s: input %d is nil", what, i)
		case n.Graph() != b.g:
			b.Failf("graph: %s: input %d belongs to another graph", what, i)
		case n.Dtype() != b.dt:
			b.Failf("graph: %s: input %d holds %v, the graph %v", what, i, n.Dtype(), b.dt)
		}
	}
	return b.err == nil
}

// add creates o's node. Gorgonia merges nodes whose 32-bit hashes agree without
// comparing their children, so the node is checked and, if it is not the one that
// was meant, made again under another hash.
func (b *Builder) add(o *op, in []*Node) *Node {
	for {
		n := gorgonia.NewUniqueNode(gorgonia.WithType(typeOf(o.dt, o.out)), gorgonia.WithOp(o),
			gorgonia.WithChildren(slices.Clone(in)), gorgonia.In(b.g), gorgonia.WithShape(o.out...))
		if got, ok := n.Op().(*op); ok && got.key() == o.key() && slices.Equal(Children(n), in) {
			return n
		}
		o.salt++
	}
}

// typeOf is Gorgonia's type of an array; scalars have their own.
func typeOf(dt tensor.Dtype, s tensor.Shape) hm.Type {
	if len(s) == 0 {
		return dt
	}
	return gorgonia.TensorType{Dims: len(s), Of: dt}
}

// Arity implements gorgonia.Op.
func (o *op) Arity() int { return len(o.in) }

// Type implements gorgonia.Op.
func (o *op) Type() hm.Type {
	types := make([]hm.Type, 0, len(o.in)+1)
	for _, s := range o.in {
		types = append(types, typeOf(o.dt, s))
	}
	return hm.NewFnType(append(types, typeOf(o.dt, o.out))...)
}

// InferShape implements gorgonia.Op.
func (o *op) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	shapes, err := gorgonia.DimSizersToShapes(in)
	if err != nil {
		return nil, err
	}
	return o.shape(shapes)
}

// Do implements gorgonia.Op: it allocates the result and runs the loops.
func (o *op) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	return o.UsePreallocDo(newValue(o.dt, o.out), in...)
}

// UsePreallocDo implements gorgonia.UsePreallocDoer.
func (o *op) UsePreallocDo(out gorgonia.Value, in ...gorgonia.Value) (gorgonia.Value, error) {
	k := o.kernels(o.in, o.out)
	var err error
	if o.dt == tensor.Float64 {
		err = runOnValues(k.f64, out, in)
	} else {
		err = runOnValues(k.f32, out, in)
	}
	if err != nil {
		return nil, fmt.Errorf("graph: %s: %w", o.key(), err)
	}
	return out, nil
}

// DiffWRT implements gorgonia.SDOp: every input may be differentiated.
func (o *op) DiffWRT(n int) []bool { return slices.Repeat([]bool{true}, n) }

// SymDiff implements gorgonia.SDOp, so that Gorgonia's tools see our derivatives.
func (o *op) SymDiff(in gorgonia.Nodes, out, ct *Node) (gorgonia.Nodes, error) {
	b := of(out)
	cts := make(gorgonia.Nodes, len(in))
	for i := range in {
		if cts[i] = o.pullback(b, i, in, out, ct); cts[i] == nil && b.err == nil {
			cts[i] = b.zeros(in[i])
		}
	}
	return cts, b.err
}

// ReturnsPtr implements gorgonia.Op.
func (o *op) ReturnsPtr() bool { return true }

// CallsExtern implements gorgonia.Op.
func (o *op) CallsExtern() bool { return false }

// OverwritesInput implements gorgonia.Op: no input is overwritten.
func (o *op) OverwritesInput() int { return -1 }

// WriteHash implements gorgonia.Op; every attribute is written.
func (o *op) WriteHash(h hash.Hash) {
	fmt.Fprintf(h, "valla %s %v %v %v %d", o.key(), o.in, o.out, o.dt, o.salt)
}

// Hashcode implements gorgonia.Op.
func (o *op) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

// String implements fmt.Stringer.
func (o *op) String() string { return o.key() }

// Children returns the operands of n in order; none for a leaf.
func Children(n *Node) []*Node {
	it := n.Graph().From(n.ID())
	if it == nil || it.Len() == 0 {
		return nil
	}
	out := make([]*Node, 0, it.Len())
	for it.Next() {
		out = append(out, it.Node().(*Node))
	}
	return out
}
