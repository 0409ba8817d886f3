package graph

import (
	"slices"

	"gorgonia.org/tensor"
)

// A transformer that classifies by its first token takes one token behind the last block. Within the block, keys and values
// alone need the others. So a selection of parts along an axis moves towards the input, through all operations that treat
// the parts one by one, up to a value that is needed as a whole or that mixes the parts.

// Narrow returns y, computed from selected parts of an array alone where y depends on no other parts. Selections are slices
// and places along an axis between the first, of the examples, and the last, of the features. No value is computed both
// as a whole and in part.
func (b *Builder) Narrow(y *Node) *Node {
	if !b.usable("narrow", y) {
		return nil
	}
	order := Ancestors(y)
	if !slices.ContainsFunc(order, selects) || slices.ContainsFunc(order, isForeign) {
		return y
	}
	w := &narrowing{b, map[*Node]bool{y: true}, map[*Node]selection{}, map[*Node]*Node{}}
	for _, n := range slices.Backward(order) {
		w.ask(n)
	}
	for _, n := range order {
		w.made[n] = w.make(n)
	}
	return w.made[y]
}

// selection is a choice of parts along an axis.
type selection struct {
	op    Op  // a window or a gather
	axis  int // along which it selects
	count int // of the parts
}

// selectionOf returns the selection that a node is. An axis of one part is not selected from: operands that are repeated along it and
// operands that are not look the same.
func selectionOf(n *Node) (s selection, ok bool) {
	own, _ := unwrap(n.Op())
	switch op := own.(type) {
	case window:
		s, ok = selection{op, op.axis, op.extent}, !op.pad
	case gather:
		s, ok = selection{op, op.axis, len(op.at)}, !op.scatter
	}
	return s, ok && s.axis > 0 && s.axis < n.Dims()-1 && Children(n)[0].Shape()[s.axis] > 1
}

func selects(n *Node) bool {
	_, ok := selectionOf(n)
	return ok
}

// isForeign reports whether n is an operation of Gorgonia's own.
func isForeign(n *Node) bool {
	_, own := unwrap(n.Op())
	return !own && !isLeaf(n)
}

// along returns the selection of the same parts along another axis.
func (s selection) along(axis int) selection {
	s.axis = axis
	switch op := s.op.(type) {
	case window:
		op.axis = axis
		s.op = op
	case gather:
		op.axis = axis
		s.op = op
	}
	return s
}

// through returns the operation that computes the parts of n from parts of its operands along axes, −1 for an operand as a
// whole. The axes are nil if n mixes the parts.
func (s selection) through(n *Node) (op Op, axes []int) {
	in, out := shapes(Children(n)), n.Shape()
	own, _ := unwrap(n.Op())
	switch op := own.(type) {
	case binary:
		return op, []int{repeats(in[0], out, s.axis), repeats(in[1], out, s.axis)}
	case broadcastTo:
		return broadcastTo{s.of(out)}, []int{repeats(in[0], out, s.axis)}
	case sumTo:
		if from := s.axis + len(in[0]) - len(out); in[0][from] == out[s.axis] {
			return sumTo{s.of(out)}, []int{from}
		}
	case reshape:
		for from, n := range in[0] {
			if n == out[s.axis] && size(in[0][:from]) == size(out[:s.axis]) {
				return reshape{s.of(out)}, []int{from}
			}
		}
	case transpose:
		return op, []int{op.perm[s.axis]}
	case matMul:
		return op, op.parts(in, s.axis)
	case logSoftmax:
		if s.axis < len(out)-1 {
			return op, []int{s.axis}
		}
	}
	if isPointwise(own) {
		return own, []int{s.axis}
	}
	return own, nil
}

// of returns the shape of the parts of an array.
func (s selection) of(shape tensor.Shape) tensor.Shape {
	shape = shape.Clone()
	shape[s.axis] = s.count
	return shape
}

// repeats returns the axis of an operand that becomes an axis of the result, to whose shape it is broadcast; −1 if the operand
// is repeated along it.
func repeats(operand, result tensor.Shape, axis int) int {
	if at := axis - len(result) + len(operand); at >= 0 && operand[at] > 1 {
		return at
	}
	return -1
}

// parts returns the axes of the operands for parts of the product along an axis: for rows, and for matrices of a stack.
func (r matMul) parts(in []tensor.Shape, axis int) []int {
	rows := len(in[0]) - 2
	switch {
	case axis == rows && r.transA:
		return []int{rows + 1, -1}
	case axis == rows || axis < rows && r.shared(in):
		return []int{axis, -1}
	case axis < rows:
		return []int{axis, axis}
	}
	return nil
}

// narrowing finds which values are needed as a whole, and of which a selection is enough.
type narrowing struct {
	b      *Builder
	whole  map[*Node]bool      // values that are needed as a whole
	wanted map[*Node]selection // what is needed of the others
	made   map[*Node]*Node     // the values, or their parts where these are enough
}

// ask asks for what n needs of its operands. All that need n have asked before.
func (w *narrowing) ask(n *Node) {
	in := Children(n)
	if s, some := w.wanted[n]; some && !w.whole[n] {
		if _, axes := s.through(n); axes != nil {
			for i, a := range in {
				w.want(a, s, axes[i])
			}
			return
		}
	}
	w.whole[n] = true
	own, selects := selectionOf(n)
	for _, a := range in {
		if selects {
			w.want(a, own, own.axis)
		} else {
			w.want(a, own, -1)
		}
	}
}

// want asks for a selection of n along an axis, or for the whole of n if the axis is −1 or if another selection is wanted, too.
func (w *narrowing) want(n *Node, s selection, axis int) {
	if axis < 0 {
		w.whole[n] = true
		return
	}
	s = s.along(axis)
	if other, ok := w.wanted[n]; ok && other.op.Key() != s.op.Key() {
		w.whole[n] = true
	}
	w.wanted[n] = s
}

// make returns n, or its parts.
func (w *narrowing) make(n *Node) *Node {
	in := slices.Clone(Children(n))
	op, _ := unwrap(n.Op())
	s, axes := w.wanted[n], []int(nil)
	if own, selects := selectionOf(n); w.whole[n] && selects {
		return w.part(in[0], own, own.axis)
	}
	if !w.whole[n] {
		op, axes = s.through(n)
	}
	for i, a := range in {
		if in[i] = w.made[a]; axes != nil {
			in[i] = w.part(a, s, axes[i])
		}
	}
	if w.whole[n] && slices.Equal(in, Children(n)) {
		return n
	}
	return w.b.rebuilt(op, in)
}

// rebuilt is Apply, but a stack of single rows is multiplied by one matrix as the matrix of these rows, whose derivatives are
// outer products.
func (b *Builder) rebuilt(op Op, in []*Node) *Node {
	if r, ok := op.(matMul); ok && b.err == nil && r.shared(shapes(in)) {
		if s := in[0].Shape().Clone(); size(s[:len(s)-1]) == s[0] {
			y := b.Apply(op, b.matrix(in[0]), in[1])
			if b.err == nil {
				s[len(s)-1] = y.Shape()[1]
			}
			return b.Reshape(y, s...)
		}
	}
	return b.Apply(op, in...)
}

// part returns what want asked for.
func (w *narrowing) part(n *Node, s selection, axis int) *Node {
	if axis < 0 || !w.whole[n] {
		return w.made[n]
	}
	return w.b.Apply(s.along(axis).op, w.made[n])
}
