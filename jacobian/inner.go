package jacobian

import "github.com/go-valla/valla/graph"

// product is the inner product of two stacks of factors that sit at rows of two
// Jacobians; it fixes which rows are paired.
type product func(b *graph.Builder, j, k *jac, u, v *graph.Node) *graph.Node

// within pairs the rows of each example: [B·s,p] and [B·t,p] give [B,s,t], where s
// and t are the number of outputs, or 1 for what all outputs share.
func within(b *graph.Builder, j, k *jac, u, v *graph.Node) *graph.Node {
	stack := func(n *graph.Node) *graph.Node {
		return b.Reshape(n, j.examples, n.Shape()[0]/j.examples, n.Shape()[1])
	}
	if u == v {
		return b.Gram(stack(u))
	}
	return b.MatMul(stack(u), stack(v), false, true)
}

// across pairs every row with every row: [B·s,p] and [M,p] give [B,s,M].
func across(b *graph.Builder, j, k *jac, u, v *graph.Node) *graph.Node {
	dots := b.MatMul(u, v, false, true)
	if b.Err() != nil {
		return nil
	}
	return b.Reshape(dots, j.examples, u.Shape()[0]/j.examples, v.Shape()[0])
}

// among pairs every row with every row of the same Jacobian: [M,M].
func among(b *graph.Builder, j, k *jac, u, v *graph.Node) *graph.Node {
	if u == v {
		return b.Gram(u)
	}
	return b.MatMul(u, v, false, true)
}

// inner sums the products of the two Jacobians' rows over all parameters.
func (j *jac) inner(b *graph.Builder, k *jac, dot product) *graph.Node {
	var sum *graph.Node
	for i := range j.uses {
		us, vs := j.uses[i], k.uses[i]
		if len(us) == 0 {
			continue // the outputs do not depend on this parameter
		}
		if !alike(us, vs) {
			us, vs = []graph.Outer{j.expand(b, us)}, []graph.Outer{k.expand(b, vs)}
		}
		for _, u := range us {
			for _, v := range vs {
				sum = add(b, sum, outerDot(b, j, k, u, v, dot))
			}
		}
	}
	return sum
}

// outerDot is (l⊗r)·(l'⊗r') = (l·l')(r·r').
func outerDot(b *graph.Builder, j, k *jac, u, v graph.Outer, dot product) *graph.Node {
	right := dot(b, j, k, u.Right, v.Right)
	if u.Left == nil {
		return right
	}
	return b.Mul(dot(b, j, k, u.Left, v.Left), right)
}

func add(b *graph.Builder, sum, term *graph.Node) *graph.Node {
	if sum == nil {
		return term
	}
	return b.Add(sum, term)
}

// alike reports whether all factors have the same widths, so that outer products
// can be multiplied without being formed.
func alike(us, vs []graph.Outer) bool {
	all := append(append([]graph.Outer{}, us...), vs...)
	for _, o := range all {
		if width(o.Left) != width(all[0].Left) || width(o.Right) != width(all[0].Right) {
			return false
		}
	}
	return true
}

func width(n *graph.Node) int {
	if n == nil {
		return 0
	}
	return n.Shape()[1]
}

// expand sums the uses of one parameter into plain rows, one for each row of j.
func (j *jac) expand(b *graph.Builder, uses []graph.Outer) graph.Outer {
	var sum *graph.Node
	for _, o := range uses {
		sum = add(b, sum, j.rows(b, o))
	}
	return graph.Outer{Right: sum}
}

// rows forms Left⊗Right for every row of j, repeating what outputs share.
func (j *jac) rows(b *graph.Builder, o graph.Outer) *graph.Node {
	right := j.perRow(b, o.Right)
	if o.Left == nil {
		return b.Reshape(right, len(j.class), o.Right.Shape()[1])
	}
	left := j.perRow(b, o.Left)
	p, q := o.Left.Shape()[1], o.Right.Shape()[1]
	s := left.Shape()[1]
	t := right.Shape()[1]
	full := b.Mul(b.Reshape(left, j.examples, s, p, 1), b.Reshape(right, j.examples, t, 1, q))
	return b.Reshape(b.BroadcastTo(full, j.examples, j.per, p, q), len(j.class), p*q)
}

// perRow gives a factor the shape [examples, per or 1, width].
func (j *jac) perRow(b *graph.Builder, n *graph.Node) *graph.Node {
	return b.Reshape(n, j.examples, n.Shape()[0]/j.examples, n.Shape()[1])
}
