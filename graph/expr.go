package graph

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"gorgonia.org/tensor"
)

// expr is a value that a program computes. Compile makes expressions of the nodes, and
// rewrites them on the way; the nodes stay as they were written.
type expr struct {
	id    int          // grows with every expression made, so operands come before their users
	op    computed     // nil for a leaf
	in    []*expr      // operands
	shape tensor.Shape // of the value
	leaf  *Node        // nil for an expression that is computed
}

// computed has the methods of an operation that a program needs. Every Op is one.
type computed interface {
	Key() string
	Shape(in []tensor.Shape) (tensor.Shape, error)
	Forward(in []tensor.Shape, out tensor.Shape) Loops
}

// rewriter makes expressions. Equal expressions are made once.
type rewriter struct {
	known map[identity]*expr // the expressions made so far
	count int                // the largest id
}

// identity tells expressions apart: an operation and the operands' ids with its key.
type identity struct {
	op  reflect.Type // of the operation
	key string       // the ids of the operands and the operation's key
}

func newRewriter() *rewriter { return &rewriter{known: make(map[identity]*expr)} }

// rewrite returns the expressions that stand for the nodes of order, operands first.
func rewrite(order []*Node) (map[*Node]*expr, error) {
	w := newRewriter()
	made := make(map[*Node]*expr, len(order))
	for _, n := range order {
		e, err := w.of(n, made)
		if err != nil {
			return nil, err
		}
		made[n] = e
	}
	return made, nil
}

// of returns the expression of one node, whose operands have been made.
func (w *rewriter) of(n *Node, made map[*Node]*expr) (*expr, error) {
	children := Children(n)
	if len(children) == 0 {
		return w.new(&expr{shape: n.Shape(), leaf: n}), nil
	}
	in := make([]*expr, len(children))
	for i, c := range children {
		in[i] = made[c]
	}
	if op, ok := unwrap(n.Op()); ok {
		return w.simplified(op, in...), nil
	}
	op, err := newStock(n, children)
	if err != nil {
		return nil, err
	}
	return w.new(&expr{op: op, in: in, shape: n.Shape()}), nil
}

func (w *rewriter) new(e *expr) *expr {
	w.count++
	e.id = w.count
	return e
}

// plain returns the expression of op on these operands, as it stands.
func (w *rewriter) plain(op computed, in ...*expr) *expr {
	id := identify(op, in)
	if e, ok := w.known[id]; ok {
		return e
	}
	shape, err := op.Shape(shapesOf(in))
	if err != nil { // the nodes' shapes were checked, and rewriting keeps them
		panic(fmt.Sprintf("graph: rewriting made an impossible operation: %s: %v", op.Key(), err))
	}
	w.known[id] = w.new(&expr{op: op, in: in, shape: shape})
	return w.known[id]
}

func identify(op computed, in []*expr) identity {
	ids := make([]int, len(in))
	for i, a := range in {
		ids[i] = a.id
	}
	if pair, ok := op.(binary); ok && pair.commutes {
		slices.Sort(ids)
	}
	return identity{reflect.TypeOf(op), fmt.Sprint(ids, op.Key())}
}

func shapesOf(in []*expr) []tensor.Shape {
	out := make([]tensor.Shape, len(in))
	for i, e := range in {
		out[i] = e.shape
	}
	return out
}

// needed returns the expressions from which the outputs are computed, and the outputs, in the
// order in which they were made.
func needed(outputs []*expr) []*expr {
	seen := make(map[*expr]bool)
	var order []*expr
	var visit func(e *expr)
	visit = func(e *expr) {
		if seen[e] {
			return
		}
		seen[e] = true
		for _, a := range e.in {
			visit(a)
		}
		order = append(order, e)
	}
	for _, e := range outputs {
		visit(e)
	}
	slices.SortFunc(order, func(a, b *expr) int { return cmp.Compare(a.id, b.id) })
	return order
}

// changing marks the given leaves and all expressions that are computed from them.
func changing(order []*expr, leaves []*Node) map[*expr]bool {
	marked := make(map[*expr]bool)
	for _, e := range order {
		marked[e] = e.leaf != nil && slices.Contains(leaves, e.leaf) ||
			slices.ContainsFunc(e.in, func(a *expr) bool { return marked[a] })
	}
	return marked
}
