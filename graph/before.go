package graph

import "slices"

// RowsBefore takes Jacobian rows [R,·] by a node that only rearranges its operand to rows by this operand, which it
// returns with them. It is false for other nodes.
func RowsBefore(b *Builder, n, rows *Node) (operand, before *Node, ok bool) {
	in := Children(n)
	op, own := unwrap(n.Op())
	if b.err != nil || !own || len(in) != 1 {
		return nil, nil, false
	}
	r, from := rows.Shape()[0], in[0].Shape()
	stacked := func() *Node { return b.Reshape(rows, append([]int{r}, n.Shape()...)...) }
	switch op := op.(type) {
	case reshape:
		before = rows
	case window:
		before = b.Apply(window{op.axis + 1, op.from, op.step, from[op.axis], !op.pad}, stacked())
	case transpose:
		inverse := make([]int, len(op.perm)+1)
		for d, p := range op.perm {
			inverse[p+1] = d + 1
		}
		before = b.Transpose(stacked(), inverse...)
	case broadcastTo:
		ones := slices.Repeat([]int{1}, n.Dims()-len(from))
		before = b.summed(stacked(), slices.Concat([]int{r}, ones, from)...)
	default:
		return nil, nil, false
	}
	return in[0], b.reshaped(before, r, size(from)), true
}
