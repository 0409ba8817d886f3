package jacobian

import (
	"slices"

	"github.com/go-valla/valla/graph"
)

// jac is the Jacobian of per outputs at each example. Row r belongs to output class[r] of
// example r/per, or to the combination of its outputs in row r of seeds [examples,per,C].
type jac struct {
	x, out   *graph.Node   // the input [examples,…] and the network's outputs [examples,C]
	params   []*graph.Node // the network's parameters
	examples int           // B
	per      int           // rows of each example
	class    []int         // the output of each row
	seeds    *graph.Node   // combinations of outputs; nil: class
	// uses holds outer products for each parameter; the Jacobian is their sum. A factor has
	// the shape [examples, per, ·]. The extent of an axis on which it does not depend is 1.
	uses [][]graph.Outer
}

// walk is one reverse pass, which collects the outer products of each parameter.
type walk struct {
	*jac
	order   []*graph.Node               // the nodes that out is computed from, operands first
	batched map[*graph.Node]bool        // nodes that depend on x
	active  map[*graph.Node]bool        // nodes that depend on a parameter
	origin  map[*graph.Node]*graph.Node // the node from which rows or full made a node
	index   map[*graph.Node]int         // the number of a parameter
	noRule  map[*graph.Node]bool        // parameters whose rows are formed densely
	alike   map[*graph.Node]bool        // cotangents that are the same for all examples, be there only one
	standIn map[*graph.Node]bool        // whether a node depends on a stand-in, see pullShared
}

// structured fills j.uses with outer products.
//
// The pass runs once for all outputs. The cotangent of a node has the shape
// [examples, per, …], or [1, per, …] as long as it is the same for all examples.
// It computes only what the result needs.
func (j *jac) structured(b *graph.Builder) {
	w := j.newWalk()
	if !w.rowWise() {
		j.dense(b, nil)
		return
	}
	w.pass(b)
	if len(w.noRule) > 0 && b.Err() == nil {
		j.dense(b, w.noRule)
	}
	if b.Err() == nil && !slices.ContainsFunc(j.uses, func(u []graph.Outer) bool { return len(u) > 0 }) {
		j.dense(b, nil) // gives zeros, because the outputs depend on no parameter
	}
}

// pass goes from the output to the parameters and collects their outer products.
func (w *walk) pass(b *graph.Builder) {
	w.uses = make([][]graph.Outer, len(w.params))
	seed := w.seed(b)
	cts := map[*graph.Node]*graph.Node{w.out: seed}
	if b.Err() == nil {
		w.alike[seed] = w.seeds == nil && seed.Shape()[0] == 1
	}
	for _, n := range slices.Backward(w.order) {
		if cts[n] != nil && w.active[n] && n != w.x && len(graph.Children(n)) > 0 && b.Err() == nil {
			w.visit(b, n, cts)
		}
	}
}

// seed returns the cotangent of the output: 1 at the class of each row and 0 elsewhere, or the
// combinations of outputs.
func (j *jac) seed(b *graph.Builder) *graph.Node {
	if j.seeds != nil {
		return j.seeds
	}
	class, outputs := j.class, j.out.Shape()[1]
	if slices.Equal(class, slices.Repeat(class[:j.per], j.examples)) {
		class = class[:j.per] // the same for all examples
	}
	return b.Reshape(b.OneHot(class, outputs), len(class)/j.per, j.per, outputs)
}

func (j *jac) newWalk() *walk {
	w := &walk{
		jac: j, order: graph.Ancestors(j.out), origin: map[*graph.Node]*graph.Node{},
		index: map[*graph.Node]int{}, noRule: map[*graph.Node]bool{}, alike: map[*graph.Node]bool{}, standIn: map[*graph.Node]bool{},
	}
	w.batched = graph.Dependents(w.order, []*graph.Node{j.x})
	w.active = graph.Dependents(w.order, j.params)
	for i, p := range j.params {
		w.index[p] = i
	}
	return w
}

// rowWise reports whether every operation between x and the output treats the examples one by
// one. The factored form needs this.
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

// visit pulls the cotangent of n back to its operands and collects those that are parameters.
func (w *walk) visit(b *graph.Builder, n *graph.Node, cts map[*graph.Node]*graph.Node) {
	in := graph.Children(n)
	for i, c := range w.pull(b, n, cts[n]) {
		if c == nil {
			continue
		}
		if cts[in[i]] != nil {
			both := w.alike[cts[in[i]]] && w.alike[c]
			c = b.Add(cts[in[i]], c)
			w.alike[c] = both
		}
		cts[in[i]] = c
	}
	for i, a := range in {
		if w.active[a] && !w.batched[a] && b.Err() == nil {
			w.collect(b, n, i, cts[n])
		}
	}
}

// collect adds operand i of n to the Jacobian. The operand is a parameter or is computed from
// parameters alone.
func (w *walk) collect(b *graph.Builder, n *graph.Node, i int, ct *graph.Node) {
	in := graph.Children(n)
	o, ok := graph.RowPullback(b, n.Op(), i, in, n, w.full(b, ct))
	if ok {
		o = graph.Outer{Left: w.factor(b, o.Left), Right: w.factor(b, o.Right)}
	}
	at := graph.Unshaped(in[i])
	for _, is := w.index[at]; ok && !is; _, is = w.index[at] { // a part of a parameter
		var rows *graph.Node
		if at, rows, ok = graph.RowsBefore(b, at, flat(b, w.jac.rows(b, o))); ok {
			o, at = graph.Outer{Right: w.factor(b, rows)}, graph.Unshaped(at)
		}
	}
	if ok {
		graph.Reordered(b, o.Right, o.Right) // inner products will use it: written here, it is computed here
		w.uses[w.index[at]] = append(w.uses[w.index[at]], o)
		return
	}
	for _, p := range graph.Ancestors(in[i]) {
		if _, ok := w.index[p]; ok {
			w.noRule[p] = true
		}
	}
}

// factor gives rows [examples,·] or [examples·per,·] the shape of a factor. It removes
// repetitions that full made.
func (w *walk) factor(b *graph.Builder, rows *graph.Node) *graph.Node {
	if rows == nil || b.Err() != nil {
		return nil
	}
	return w.split(b, rows, w.examples, rows.Shape()[0]/w.examples)
}
