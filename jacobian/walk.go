package jacobian

import (
	"slices"

	"github.com/go-valla/valla/graph"
)

// jac is the Jacobian of per outputs at each of a number of examples, in rows:
// row r is output class[r] of example r/per.
type jac struct {
	x, out   *graph.Node
	params   []*graph.Node
	examples int
	per      int
	class    []int
	uses     [][]graph.Outer // by parameter; the Jacobian is their sum
}

// walk is one reverse pass that collects what reaches each parameter.
type walk struct {
	*jac
	order   []*graph.Node
	batched map[*graph.Node]bool // depends on x
	active  map[*graph.Node]bool // depends on a parameter
	tiles   map[*graph.Node]*graph.Node
	untiled map[*graph.Node]*graph.Node // inverse of tiles
	index   map[*graph.Node]int         // of a parameter
	noRule  map[*graph.Node]bool        // parameters to be treated densely
}

// structured fills j.uses with outer products.
//
// The pass runs once for all outputs: every node that depends on x is repeated per
// times along its batch axis, and the operations' own pullbacks are applied to the
// repeated nodes. Only what the result needs is ever computed.
func (j *jac) structured(b *graph.Builder) {
	w := j.newWalk()
	if !w.rowWise() {
		j.dense(b, nil)
		return
	}
	j.uses = make([][]graph.Outer, len(j.params))
	cts := map[*graph.Node]*graph.Node{j.out: b.OneHot(j.class, j.out.Shape()[1])}
	for _, n := range slices.Backward(w.order) {
		if cts[n] != nil && w.active[n] && n != j.x && len(graph.Children(n)) > 0 && b.Err() == nil {
			w.visit(b, n, cts)
		}
	}
	if len(w.noRule) > 0 && b.Err() == nil {
		j.dense(b, w.noRule)
	}
	if b.Err() == nil && !slices.ContainsFunc(j.uses, func(u []graph.Outer) bool { return len(u) > 0 }) {
		j.dense(b, nil) // zeros: the outputs do not change with any parameter
	}
}

func (j *jac) newWalk() *walk {
	w := &walk{
		jac: j, order: graph.Ancestors(j.out),
		tiles: map[*graph.Node]*graph.Node{}, untiled: map[*graph.Node]*graph.Node{},
		index: map[*graph.Node]int{}, noRule: map[*graph.Node]bool{},
	}
	w.batched = graph.Dependents(w.order, []*graph.Node{j.x})
	w.active = graph.Dependents(w.order, j.params)
	for i, p := range j.params {
		w.index[p] = i
	}
	return w
}

// rowWise reports whether every operation between x and the output treats the
// examples one by one, which the factored form relies on.
func (w *walk) rowWise() bool {
	for _, n := range w.order {
		in := graph.Children(n)
		if n == w.x || len(in) == 0 || !w.batched[n] {
			continue
		}
		batched := make([]bool, len(in))
		for i, a := range in {
			batched[i] = w.batched[a]
		}
		if !graph.RowWise(n.Op(), batched, in) || n.Shape()[0] != w.examples {
			return false
		}
	}
	return w.batched[w.out]
}

// visit hands n's cotangent to its operands.
func (w *walk) visit(b *graph.Builder, n *graph.Node, cts map[*graph.Node]*graph.Node) {
	in := graph.Children(n)
	tiled := make([]*graph.Node, len(in))
	for i, a := range in {
		tiled[i] = w.tile(b, a)
	}
	out, ct := w.tile(b, n), cts[n]
	pass := func(i int) bool { return w.batched[in[i]] && w.active[in[i]] && in[i] != w.x }
	for i, c := range graph.Pullback(b, n.Op(), tiled, out, ct, pass) {
		if c == nil {
			continue
		}
		if cts[in[i]] != nil {
			c = b.Add(cts[in[i]], c)
		}
		cts[in[i]] = c
	}
	for i, a := range in {
		if w.active[a] && !w.batched[a] {
			w.collect(b, n, i, tiled, out, ct)
		}
	}
}

// collect takes operand i of n, a parameter or something computed from parameters
// alone, into the Jacobian.
func (w *walk) collect(b *graph.Builder, n *graph.Node, i int, tiled []*graph.Node, out, ct *graph.Node) {
	operand := graph.Children(n)[i]
	if p, ok := w.index[operand]; ok {
		if o, ok := graph.RowPullback(b, n.Op(), i, tiled, out, ct); ok {
			w.uses[p] = append(w.uses[p], graph.Outer{Left: w.untile(o.Left), Right: w.untile(o.Right)})
			return
		}
	}
	for _, p := range graph.Ancestors(operand) {
		if _, ok := w.index[p]; ok {
			w.noRule[p] = true
		}
	}
}

// tile repeats each row of a batched node per times.
func (w *walk) tile(b *graph.Builder, n *graph.Node) *graph.Node {
	if w.per == 1 || !w.batched[n] || b.Err() != nil {
		return n
	}
	if w.tiles[n] == nil {
		rest := n.Shape()[1:]
		one := b.Reshape(n, append([]int{w.examples, 1}, rest...)...)
		all := b.BroadcastTo(one, append([]int{w.examples, w.per}, rest...)...)
		w.tiles[n] = b.Reshape(all, append([]int{w.examples * w.per}, rest...)...)
		w.untiled[w.tiles[n]] = n
	}
	return w.tiles[n]
}

// untile returns the node that t repeats, so that what is the same for all outputs
// of an example is computed once.
func (w *walk) untile(t *graph.Node) *graph.Node {
	if n, ok := w.untiled[t]; ok {
		return n
	}
	return t
}
