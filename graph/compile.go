package graph

import (
	"fmt"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// compiler assigns memory to every node. It is given back after its last use; what is
// computed once for use in every run, and the outputs, keep theirs.
type compiler[T kernel.Float] struct {
	code    *code[T]
	varying map[*Node]bool  // nil: everything varies
	root    map[*Node]*Node // the node whose memory this one shares
	left    map[*Node]int   // uses of a root's memory still to come
	arena   arena
	place   map[*Node]region // by root
	copies  map[*Node]region // of outputs that are leaves
	keep    map[*Node]bool   // roots whose memory is never given back
	links   []link[T]
}

// link is a step and where its result and its operands will lie.
type link[T kernel.Float] struct {
	s *step[T]
	y region
	x []*Node // roots
}

func newCompiler[T kernel.Float](order, outputs []*Node, o Options) (*compiler[T], error) {
	c := &compiler[T]{
		code: &code[T]{leaves: map[*Node][]T{}, uses: map[*Node][]operand[T]{}},
		root: map[*Node]*Node{}, left: map[*Node]int{}, place: map[*Node]region{},
		copies: map[*Node]region{}, keep: map[*Node]bool{},
	}
	if o.Varying != nil {
		c.varying = Dependents(order, o.Varying)
	}
	c.plan(order, outputs)
	for _, each := range []bool{false, true} { // in the order in which they run
		for _, n := range order {
			if c.each(n) == each {
				if err := c.emit(n); err != nil {
					return nil, err
				}
			}
		}
	}
	for _, n := range outputs {
		if isLeaf(c.root[n]) {
			c.copyLeaf(n)
		}
	}
	return c, nil
}

func compile[T kernel.Float](order, outputs []*Node, o Options, values map[*Node]*tensor.Dense) (machine, error) {
	c, err := newCompiler[T](order, outputs, o)
	if err != nil {
		return nil, err
	}
	memory := make([]T, c.arena.size)
	at := func(r region, n *Node) []T {
		end := r.at + size(n.Shape())
		return memory[r.at:end:end]
	}
	c.code.allocated = len(memory)
	for _, l := range c.links {
		l.s.y = at(l.y, l.s.n)
		for i, r := range l.x {
			if isLeaf(r) {
				l.s.x[i] = c.code.leaves[r]
			} else {
				l.s.x[i] = at(c.place[r], r)
			}
		}
	}
	c.code.fused = fuse(c.code.each)
	for _, n := range outputs {
		from, ok := c.copies[n]
		if !ok {
			from = c.place[c.root[n]]
		}
		values[n] = wrap(n, at(from, n))
	}
	return c.code, nil
}

// plan finds which nodes share a buffer and how often each buffer is read.
func (c *compiler[T]) plan(order, outputs []*Node) {
	for _, n := range order {
		c.root[n] = n
		if in := Children(n); len(in) > 0 && isAlias(n) {
			c.root[n] = c.root[in[0]]
		}
	}
	for _, n := range order {
		for _, in := range Children(n) {
			c.left[c.root[in]]++
			if !c.each(in) && c.each(n) {
				c.keep[c.root[in]] = true
			}
		}
	}
	for _, n := range outputs {
		c.keep[c.root[n]] = true
	}
}

func isLeaf(n *Node) bool { return len(Children(n)) == 0 }

func isReshape(n *Node) bool {
	r, ok := unwrap(n.Op())
	if !ok {
		return false
	}
	_, ok = r.(reshape)
	return ok
}

// isAlias reports whether n is its operand in another guise.
func isAlias(n *Node) bool {
	r, _ := unwrap(n.Op())
	_, ok := r.(barrier)
	return ok || isReshape(n)
}

// each reports whether n is computed in every run.
func (c *compiler[T]) each(n *Node) bool { return c.varying == nil || c.varying[n] }

func (c *compiler[T]) emit(n *Node) error {
	in := Children(n)
	switch {
	case len(in) == 0:
		return c.leaf(n)
	case c.root[n] != n:
		c.release(in)
		return nil
	}
	s, err := newStep[T](n, in)
	if err != nil {
		return err
	}
	l := link[T]{s: s, y: c.room(n, in)}
	c.place[n] = l.y
	for i, a := range in {
		l.x = append(l.x, c.root[a])
		if r := c.root[a]; isLeaf(r) {
			c.code.uses[r] = append(c.code.uses[r], operand[T]{s, i})
		}
	}
	c.links = append(c.links, l)
	c.release(in)
	if c.each(n) {
		c.code.each = append(c.code.each, s)
	} else {
		c.code.once = append(c.code.once, s)
	}
	return nil
}

// leaf reads the value that the node is bound to, if it is.
func (c *compiler[T]) leaf(n *Node) error {
	c.code.leaves[n] = nil
	v := n.Value()
	if v == nil {
		return nil
	}
	data, err := slice[T](v)
	if err != nil {
		return fmt.Errorf("graph: leaf %q: %w", n.Name(), err)
	}
	c.code.leaves[n] = data
	return nil
}

// room returns where n's value will lie. What is computed element by element takes the
// place of an operand that nothing else will read.
func (c *compiler[T]) room(n *Node, in []*Node) region {
	want := size(n.Shape())
	for _, a := range in {
		if r := c.root[a]; elementwise(n) && c.left[r] == 1 && c.mayFree(r) && size(r.Shape()) == want {
			c.keep[r] = true // it is n's now
			return c.place[r]
		}
	}
	return c.arena.take(want)
}

// elementwise reports whether element i of n depends on element i alone of every
// operand that has as many elements.
func elementwise(n *Node) bool {
	r, _ := unwrap(n.Op())
	switch r.(type) {
	case pointwise, binary:
		return true
	}
	return false
}

// release gives back the memory of operands that nothing else will read.
func (c *compiler[T]) release(in []*Node) {
	for _, a := range in {
		r := c.root[a]
		c.left[r]--
		if c.left[r] == 0 && c.mayFree(r) {
			c.arena.give(c.place[r])
		}
	}
}

// mayFree reports whether a root's memory is of no use after its last reader.
func (c *compiler[T]) mayFree(r *Node) bool { return !c.keep[r] && !isLeaf(r) }

// copyLeaf makes each run copy the value of an output that is a leaf, or one reshaped.
func (c *compiler[T]) copyLeaf(n *Node) {
	if _, ok := c.copies[n]; ok {
		return
	}
	leaf, to := c.root[n], c.arena.take(size(n.Shape()))
	s := &step[T]{n: n, x: make([][]T, 1), f: func(y []T, x [][]T) error { copy(y, x[0]); return nil }}
	c.copies[n] = to
	c.links = append(c.links, link[T]{s, to, []*Node{leaf}})
	c.code.uses[leaf] = append(c.code.uses[leaf], operand[T]{s, 0})
	c.code.each = append(c.code.each, s)
}

// wrap makes a tensor of the memory of an output.
func wrap[T kernel.Float](n *Node, data []T) *tensor.Dense {
	shape := n.Shape().Clone()
	if len(shape) == 0 {
		shape = tensor.Shape{1}
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data))
}

// newStep binds the loops of n's operation to its shapes.
func newStep[T kernel.Float](n *Node, in []*Node) (*step[T], error) {
	s := &step[T]{n: n, x: make([][]T, len(in))}
	own, ok := n.Op().(*op)
	if !ok {
		f, err := foreign[T](n, in)
		s.f = f
		return s, err
	}
	k := own.kernels(own.in, own.out)
	if f, ok := any(k.f64).(func([]T, [][]T) error); ok {
		s.f = f
	} else {
		s.f = any(k.f32).(func([]T, [][]T) error)
	}
	return s, nil
}

// foreign runs a stock Gorgonia operation on copies of the operands, since it may
// keep or change them.
func foreign[T kernel.Float](n *Node, in []*Node) (func(y []T, x [][]T) error, error) {
	for _, a := range in {
		if a.Dtype() != n.Dtype() {
			return nil, fmt.Errorf("graph: %v mixes element types %v and %v", n.Op(), a.Dtype(), n.Dtype())
		}
	}
	return func(y []T, x [][]T) error {
		vals := make([]gorgonia.Value, len(in))
		for i, a := range in {
			vals[i] = newValue(a.Dtype(), a.Shape())
			data, err := slice[T](vals[i])
			if err != nil {
				return err
			}
			copy(data, x[i])
		}
		out, err := n.Op().Do(vals...)
		if err != nil {
			return err
		}
		if t, ok := out.(*tensor.Dense); ok && t.RequiresIterator() {
			out = t.Materialize().(*tensor.Dense)
		}
		data, err := slice[T](out)
		if err != nil {
			return err
		}
		if len(data) != len(y) {
			return fmt.Errorf("result has %d elements, expected shape %v", len(data), n.Shape())
		}
		copy(y, data)
		return nil
	}, nil
}
