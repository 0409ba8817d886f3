package jacobian

import (
	"cmp"
	"slices"

	"github.com/go-valla/valla/graph"
)

// product computes the inner products between the rows of two stacks of factors u [B,s,p] and
// v [B',t,p]; each product pairs other rows. An axis of a stack has the extent 1 if the factors
// are the same for all examples, or for all outputs.
type product struct {
	// rows pairs rows that are formed.
	rows   func(b *graph.Builder, u, v *graph.Node) *graph.Node
	places func(p *places, b *graph.Builder, q *places) *graph.Node // pairs rows that are sums over places
	// shared is for rows u that the outputs of each example share, and the rows v, which must be u
	// unless others is set.
	shared func(s *shared, b *graph.Builder, v *graph.Node) *graph.Node
	others bool // v may be other rows than u
}

var (
	withinExamples = product{within, (*places).within, (*shared).within, false}
	ownRows        = product{own, (*places).own, (*shared).alone, false}
	acrossExamples = product{across, (*places).across, (*shared).across, true}
	amongExamples  = product{among, (*places).among, nil, false}
)

// of returns the inner products of rows.
func (p product) of(b *graph.Builder, u, v *graph.Node) *graph.Node {
	if x, y, ok := inPlaces(b, u, v); ok {
		return p.places(x, b, y)
	}
	if p.shared != nil && (u == v || p.others) {
		if s, w, ok := sharedRows(b, u, v); ok {
			return p.shared(s, b, w)
		}
	}
	u, v = graph.Reordered(b, u, v)
	return p.rows(b, u, v)
}

// within pairs the rows of each example: [B,s,p] and [B,t,p] give [B,s,t].
func within(b *graph.Builder, u, v *graph.Node) *graph.Node {
	if u == v {
		return b.Gram(u)
	}
	stack := max(u.Shape()[0], v.Shape()[0])
	alike := func(n *graph.Node) *graph.Node { return repeated(b, n, stack, n.Shape()[1], n.Shape()[2]) }
	return b.MatMul(alike(u), alike(v), false, true)
}

// own pairs each row with itself: [B,s,p] and [B,s,p] give [B,s,1].
func own(b *graph.Builder, u, v *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	return b.SumTo(b.Mul(u, v), max(u.Shape()[0], v.Shape()[0]), max(u.Shape()[1], v.Shape()[1]), 1)
}

// across pairs every row of u with every row of v, which has one output for each example:
// [B,s,p] and [M,1,p] give [B,s,M].
func across(b *graph.Builder, u, v *graph.Node) *graph.Node {
	dots := b.MatMul(flat(b, u), flat(b, v), false, true)
	return b.Reshape(dots, u.Shape()[0], u.Shape()[1], v.Shape()[0])
}

// among pairs every row with every row, where both stacks have one output for each example:
// [M,1,p] and [M,1,p] give [M,M].
func among(b *graph.Builder, u, v *graph.Node) *graph.Node {
	if u == v {
		return b.Gram(flat(b, u))
	}
	return b.MatMul(flat(b, u), flat(b, v), false, true)
}

// flat joins the axes of examples and outputs: [B,s,p] becomes [B·s,p].
func flat(b *graph.Builder, n *graph.Node) *graph.Node {
	return b.Reshape(n, n.Shape()[0]*n.Shape()[1], n.Shape()[2])
}

// repeated broadcasts n to a shape if it has another one.
func repeated(b *graph.Builder, n *graph.Node, shape ...int) *graph.Node {
	if b.Err() != nil || slices.Equal(n.Shape(), shape) {
		return n
	}
	return b.BroadcastTo(n, shape...)
}

// inner returns the inner products of the rows of two Jacobians, summed over all parameters.
// An axis of the result has the extent 1 if all examples, or all outputs, have the same values.
func (j *jac) inner(b *graph.Builder, k *jac, dot product) *graph.Node {
	var terms []graph.Outer
	for i := range j.uses {
		us, vs := j.uses[i], k.uses[i]
		if len(us) == 0 {
			continue // the outputs do not depend on this parameter
		}
		if !alike(us, vs) || !pairsPay(us, vs) {
			us, vs = []graph.Outer{j.expand(b, us)}, []graph.Outer{k.expand(b, vs)}
		}
		for _, u := range us {
			for _, v := range vs {
				terms = addTerm(b, terms, outerDot(b, u, v, dot))
			}
		}
	}
	var sum *graph.Node
	for _, t := range terms {
		sum = joined(b.Add, sum, joined(b.Mul, t.Left, t.Right))
	}
	return sum
}

// outerDot returns the inner product (l⊗r)·(l'⊗r') = (l·l')(r·r') as its two factors.
func outerDot(b *graph.Builder, u, v graph.Outer, dot product) graph.Outer {
	t := graph.Outer{Right: dot.of(b, u.Right, v.Right)}
	if u.Left != nil {
		t.Left = dot.of(b, u.Left, v.Left)
	}
	return t
}

// addTerm adds t to the term that has the same right factor, if there is one. The terms of a
// layer's weights and of its biases become (l·l' + 1)(r·r').
func addTerm(b *graph.Builder, terms []graph.Outer, t graph.Outer) []graph.Outer {
	for i, s := range terms {
		switch {
		case s.Right != t.Right || b.Err() != nil:
		case s.Left != nil && t.Left != nil:
			terms[i].Left = b.Add(s.Left, t.Left)
			return terms
		case s.Left != nil || t.Left != nil:
			terms[i].Left = b.Affine(cmp.Or(s.Left, t.Left), 1, 1)
			return terms
		}
	}
	return append(terms, t)
}

// joined returns f(x, y), or y if x is nil.
func joined(f func(x, y *graph.Node) *graph.Node, x, y *graph.Node) *graph.Node {
	if x == nil {
		return y
	}
	return f(x, y)
}

// alike reports whether all factors have the same widths. Inner products of the outer products
// can then be computed from the factors.
func alike(us, vs []graph.Outer) bool {
	all := append(append([]graph.Outer{}, us...), vs...)
	for _, o := range all {
		if width(o.Left) != width(all[0].Left) || width(o.Right) != width(all[0].Right) {
			return false
		}
	}
	return true
}

// pairsPay reports whether the inner products of all pairs of uses take fewer multiplications than the
// rows that are the sums of these uses.
func pairsPay(us, vs []graph.Outer) bool {
	left, right := width(us[0].Left), width(us[0].Right)
	pairs, uses := len(us)*len(vs), len(us)+len(vs)
	return pairs == 1 || pairs*(left+right) <= uses*max(left, 1)*right
}

func width(n *graph.Node) int {
	if n == nil {
		return 0
	}
	return n.Shape()[2]
}

// expand sums the outer products of the uses of one parameter to rows [examples, per, size].
func (j *jac) expand(b *graph.Builder, uses []graph.Outer) graph.Outer {
	var sum *graph.Node
	for _, o := range uses {
		sum = joined(b.Add, sum, j.rows(b, o))
	}
	return graph.Outer{Right: sum}
}

// rows forms the outer product Left⊗Right for every example and output.
func (j *jac) rows(b *graph.Builder, o graph.Outer) *graph.Node {
	size, full := width(o.Right), o.Right
	if o.Left != nil {
		l, r := o.Left.Shape(), o.Right.Shape()
		full = b.Mul(b.Reshape(o.Left, l[0], l[1], l[2], 1), b.Reshape(o.Right, r[0], r[1], 1, r[2]))
		size *= l[2]
		full = b.Reshape(full, max(l[0], r[0]), max(l[1], r[1]), size)
	}
	return repeated(b, full, j.examples, j.per, size)
}
