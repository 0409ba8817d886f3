package graph

import (
	"fmt"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// compiler assigns a buffer to every node. A buffer is given back after its last
// use in the repeated part; what is computed once, and the outputs, keep theirs.
type compiler[T kernel.Float] struct {
	code    *code[T]
	varying map[*Node]bool  // nil: everything varies
	root    map[*Node]*Node // the node whose buffer this one shares
	left    map[*Node]int   // uses of a root's buffer still to come
	bufs    map[*Node][]T   // by root
	free    map[int][][]T   // by length
	keep    map[*Node]bool  // roots whose buffer is never given back
}

func compile[T kernel.Float](order, outputs []*Node, o Options, values map[*Node]*tensor.Dense) (machine, error) {
	c := &compiler[T]{
		code: &code[T]{leaves: map[*Node][]T{}, uses: map[*Node][]operand[T]{}},
		root: map[*Node]*Node{}, left: map[*Node]int{}, bufs: map[*Node][]T{},
		free: map[int][][]T{}, keep: map[*Node]bool{},
	}
	if o.Varying != nil {
		c.varying = Dependents(order, o.Varying)
	}
	c.plan(order, outputs)
	for _, n := range order {
		if err := c.emit(n); err != nil {
			return nil, err
		}
	}
	for _, n := range outputs {
		if values[n] == nil {
			values[n] = c.output(n)
		}
	}
	return c.code, nil
}

// plan finds which nodes share a buffer and how often each buffer is read.
func (c *compiler[T]) plan(order, outputs []*Node) {
	for _, n := range order {
		c.root[n] = n
		if in := Children(n); len(in) > 0 && isReshape(n) {
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
	s.y = c.buffer(n, in)
	c.bufs[n] = s.y
	for i, a := range in {
		r := c.root[a]
		if isLeaf(r) {
			s.x[i] = c.code.leaves[r]
			c.code.uses[r] = append(c.code.uses[r], operand[T]{s, i})
			continue
		}
		s.x[i] = c.bufs[r]
	}
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

// buffer returns n's buffer. What is computed once needs one of its own; what is
// computed element by element takes that of an operand that nothing else will read.
func (c *compiler[T]) buffer(n *Node, in []*Node) []T {
	if !c.each(n) {
		c.code.allocated += size(n.Shape())
		return make([]T, size(n.Shape()))
	}
	want := size(n.Shape())
	for _, a := range in {
		if r := c.root[a]; elementwise(n) && c.left[r] == 1 && c.mayFree(r) && len(c.bufs[r]) == want {
			c.keep[r] = true // it is n's now
			return c.bufs[r]
		}
	}
	return c.take(want)
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

// take returns a buffer of n elements, one given back if there is one.
func (c *compiler[T]) take(n int) []T {
	if list := c.free[n]; len(list) > 0 {
		c.free[n] = list[:len(list)-1]
		return list[len(list)-1]
	}
	c.code.allocated += n
	return make([]T, n)
}

// release gives back the buffers that these operands were the last to read.
func (c *compiler[T]) release(in []*Node) {
	for _, a := range in {
		r := c.root[a]
		c.left[r]--
		if c.left[r] == 0 && c.mayFree(r) {
			c.free[len(c.bufs[r])] = append(c.free[len(c.bufs[r])], c.bufs[r])
		}
	}
}

// mayFree reports whether a root's buffer is of no use after its last reader.
func (c *compiler[T]) mayFree(r *Node) bool { return !c.keep[r] && !isLeaf(r) && c.each(r) }

// output wraps the buffer of an output as a tensor; a leaf's value is copied in each run.
func (c *compiler[T]) output(n *Node) *tensor.Dense {
	shape := n.Shape().Clone()
	if len(shape) == 0 {
		shape = tensor.Shape{1}
	}
	buf := c.bufs[c.root[n]]
	if r := c.root[n]; isLeaf(r) {
		buf = c.take(size(shape))
		s := &step[T]{n: n, y: buf, x: [][]T{c.code.leaves[r]}, f: func(y []T, x [][]T) error { copy(y, x[0]); return nil }}
		c.code.uses[r] = append(c.code.uses[r], operand[T]{s, 0})
		c.code.each = append(c.code.each, s)
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(buf))
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
