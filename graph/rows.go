package graph

import "gorgonia.org/gorgonia"

// Outer is a stack of Jacobian rows in factored form: row r, over the elements of
// one parameter in row-major order, is the outer product Left_r ⊗ Right_r,
// flattened. A nil Left stands for the number 1.
type Outer struct{ Left, Right *Node } // [rows,p] and [rows,q], p·q parameter elements

// rowPullbacker is a rule that knows the Jacobian rows of an unbatched input, with the
// arguments of [RowPullback].
type rowPullbacker interface {
	rowPullback(b *Builder, i int, in []*Node, out, ct *Node) (Outer, bool)
}

// RowWise reports whether op acts on each row of axis 0 by itself: row r of the
// output is computed from row r of the batched inputs and from the others as a
// whole. Operations that do not say are taken not to.
func RowWise(op gorgonia.Op, batched []bool, in []*Node) bool {
	if r, ok := unwrap(op); ok {
		return r.rowWise(batched, shapes(in))
	}
	return false
}

// Pointwise reports whether op acts on each element of its one operand by itself, so
// that its pullback multiplies each element of the cotangent by a slope.
func Pointwise(op gorgonia.Op) bool {
	r, _ := unwrap(op)
	_, ok := r.(pointwise)
	return ok
}

// RowPullback returns the Jacobian rows of the unbatched input i, one for each row of
// ct: what Pullback would give for that input, before it is summed over the rows. The
// batched inputs and out have one row for each example, ct may have several,
// neighbours; a factor has as many rows as out or as ct. It is false where op has no
// such rule.
func RowPullback(b *Builder, op gorgonia.Op, i int, in []*Node, out, ct *Node) (Outer, bool) {
	if r, ok := unwrap(op); ok {
		if rp, ok := r.(rowPullbacker); ok {
			return rp.rowPullback(b, i, in, out, ct)
		}
	}
	return Outer{}, false
}
