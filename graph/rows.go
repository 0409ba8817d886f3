package graph

import "gorgonia.org/gorgonia"

// Outer is a stack of Jacobian rows in factored form: row r, over the elements of
// one parameter in row-major order, is the outer product Left_r ⊗ Right_r,
// flattened. A nil Left stands for the number 1.
type Outer struct {
	Left, Right *Node // [rows,p] and [rows,q], where p·q is the number of the parameter's elements
}

// RowWise reports whether op acts on each row of axis 0 by itself: row r of the
// output is computed from row r of the batched inputs and from the others as a
// whole. Operations that do not say are taken not to.
func RowWise(op gorgonia.Op, batched []bool, in []*Node) bool {
	if r, ok := unwrap(op); ok {
		return r.RowWise(batched, shapes(in))
	}
	return false
}

// IsPointwise reports whether op acts on each element of its one operand by itself, so
// that its pullback multiplies each element of the cotangent by a slope.
func IsPointwise(op gorgonia.Op) bool {
	r, _ := unwrap(op)
	return isPointwise(r)
}

// RowPullback returns the Jacobian rows of the unbatched input i, one for each row of
// ct: what Pullback would give for that input, before it is summed over the rows. The
// batched inputs and out have one row for each example, ct may have several,
// neighbours; a factor has as many rows as out or as ct. It is false where op has no
// such rows.
func RowPullback(b *Builder, op gorgonia.Op, i int, in []*Node, out, ct *Node) (Outer, bool) {
	if r, ok := unwrap(op); ok {
		if rp, ok := r.(rowPullbacker); ok {
			return rp.RowPullback(b, i, in, out, ct)
		}
	}
	return Outer{}, false
}

// TakesNeighbours reports whether op's pullback takes a cotangent that has several rows, neighbours, for each
// row of the operands, which are then not repeated. The Op has the method Neighbours, which says so.
func TakesNeighbours(op gorgonia.Op) bool {
	own, _ := unwrap(op)
	n, ok := own.(interface{ Neighbours() bool })
	return ok && n.Neighbours()
}
