package graph

import (
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
	rows  bool         // the value depends on the examples of the batch, see rewriter
}

// computed has the methods of an operation that a program needs. Every Op is one.
type computed interface {
	Key() string
	Shape(in []tensor.Shape) (tensor.Shape, error)
	Forward(in []tensor.Shape, out tensor.Shape) Loops
}

// rewriter makes expressions. Equal expressions are made once. What it makes of a row must not
// depend on how many rows a batch has, so that a row has the same bits in any batch: it therefore
// compares the sizes that arrays would have in a batch of usualBatch examples.
type rewriter struct {
	known map[identity]*expr // the expressions made so far
	count int                // the largest id
	batch *Node              // the examples [B,…] if they are all that varies; nil: there is no batch
}

// usualBatch is the number of examples for which expressions are rewritten.
const usualBatch = 100

// usually returns how many elements an array of a shape would have in a batch of usualBatch examples.
// The flag says whether the array has rows for each example.
func (w *rewriter) usually(s tensor.Shape, rows bool) int {
	if rows {
		return size(s) * usualBatch / w.batch.Shape()[0]
	}
	return size(s)
}

// alike reports whether e, which broadcasts with an array of the shape full, has rows for each example
// if that array has: it depends on the examples or was repeated for them.
func (e *expr) alike(full tensor.Shape, rows bool) bool {
	return e.rows || rows && len(full) > 0 && len(e.shape) == len(full) && full[0] > 1 && e.shape[0] == full[0]
}

// identity tells expressions apart: an operation and the operands' ids with its key.
type identity struct {
	op  reflect.Type // of the operation
	key string       // the ids of the operands and the operation's key
}

func newRewriter(o Options) *rewriter {
	w := &rewriter{known: make(map[identity]*expr)}
	if len(o.Varying) == 1 && o.Varying[0].Dims() > 0 && o.Varying[0].Shape()[0] > 0 {
		w.batch = o.Varying[0]
	}
	return w
}

// rewrite returns the expressions that stand for the nodes of order, operands first.
func rewrite(order []*Node, o Options) (map[*Node]*expr, error) {
	w := newRewriter(o)
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
	e.rows = w.batch != nil && e.leaf == w.batch || slices.ContainsFunc(e.in, func(a *expr) bool { return a.rows })
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
	return identity{reflect.TypeOf(op), shapeText(ids) + op.Key()}
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
	return reached(outputs, func(e *expr) []*expr { return e.in }, func(e *expr) int { return e.id })
}

// ids returns the length of a list by id, for expressions in the order of their ids.
func ids(order []*expr) int {
	if len(order) == 0 {
		return 0
	}
	return order[len(order)-1].id + 1
}

// marks are a set of expressions, by their ids.
type marks []bool

func (m marks) has(e *expr) bool { return e.id < len(m) && m[e.id] }

// changing marks the given leaves and all expressions that are computed from them.
func changing(order []*expr, leaves []*Node) marks {
	marked := make(marks, ids(order))
	for _, e := range order {
		marked[e.id] = e.leaf != nil && slices.Contains(leaves, e.leaf) || slices.ContainsFunc(e.in, marked.has)
	}
	return marked
}
