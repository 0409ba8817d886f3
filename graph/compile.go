package graph

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// compiler assigns memory to every node. The memory is given back after the last use of the
// node. Outputs, and nodes that are computed once for all runs, keep theirs.
type compiler[T kernel.Float] struct {
	outputs []*expr          // what is computed
	first   *code[T]         // of a twin: the machine that has what is computed once; nil for others
	code    *code[T]         // the machine in the making
	varying marks            // what changes from run to run; nil: everything
	root    []*expr          // by id: the expression whose memory this one shares
	left    []int            // by id: uses of a root's memory still to come
	arena   arena            // the plan of memory
	place   []region         // by id of a root
	copies  map[*expr]region // of outputs that are leaves
	keep    []bool           // by id: roots whose memory is never given back
	links   []link[T]        // the steps in order, with the places of their arrays
}

// link is a step and where its result and its operands will lie.
type link[T kernel.Float] struct {
	s *step[T]
	y region  // of the result
	x []*expr // the roots of the operands
}

// newCompiler plans a program or, if first is not nil, a twin of first, which has no memory of its own for what is computed once.
func newCompiler[T kernel.Float](outputs []*expr, o Options, first *code[T]) (*compiler[T], error) {
	order := needed(outputs)
	n := ids(order)
	c := &compiler[T]{
		outputs: outputs, first: first,
		code: &code[T]{leaves: map[*Node][]T{}, uses: map[*Node][]operand[T]{}},
		root: make([]*expr, n), left: make([]int, n), place: make([]region, n), copies: map[*expr]region{}, keep: make([]bool, n),
	}
	if o.Varying != nil {
		c.varying = changing(order, o.Varying)
	}
	c.plan(order, outputs)
	for _, each := range []bool{false, true} { // in the order in which they run
		if first != nil {
			c.arena = arena{}
		}
		own := slices.DeleteFunc(slices.Clone(order), func(e *expr) bool { return c.each(e) != each })
		for _, e := range c.schedule(own) {
			if err := c.emit(e); err != nil {
				return nil, err
			}
		}
	}
	for _, e := range outputs {
		if c.root[e.id].leaf != nil {
			c.copyLeaf(e)
		}
	}
	return c, nil
}

// largeArena is the number of bytes from which on to look for garbage takes no time beside a run.
const largeArena = 64 << 20

// compile returns the machine that computes outputs, and their values. It takes what is computed
// once from first, a machine for the same outputs, unless this is nil.
func compile[T kernel.Float](outputs []*expr, o Options, first *code[T]) (machine, []*tensor.Dense, error) {
	c, err := newCompiler(outputs, o, first)
	if err != nil {
		return nil, nil, err
	}
	return c.machine()
}

// machine returns the machine and the values of the outputs, after it has allocated its memory.
func (c *compiler[T]) machine() (machine, []*tensor.Dense, error) {
	bytes := int64(c.bytes())
	if err := CheckMemory("a graph", bytes); err != nil {
		return nil, nil, err
	}
	if bytes > largeArena {
		runtime.GC() // the memory of programs that are no longer used would count beside this one's
	}
	c.code.memory = make([]T, c.arena.size)
	if c.code.first = c.first; c.first == nil {
		c.code.first = c.code
	} else {
		c.code.once = nil
	}
	c.connect()
	c.code.fused = fuse(c.code.each)
	values := make([]*tensor.Dense, len(c.outputs))
	for i, e := range c.outputs {
		from, ok := c.copies[e]
		if !ok {
			from = c.place[c.root[e.id].id]
		}
		values[i] = wrap(e.shape, c.at(from, e))
	}
	return c.code, values, nil
}

// bytes returns the memory that the machine will hold.
func (c *compiler[T]) bytes() int { return c.arena.size * int(unsafe.Sizeof(T(0))) }

// connect gives each step the memory of its result and of its operands. A twin has no steps that
// run once.
func (c *compiler[T]) connect() {
	for _, l := range c.links {
		if c.first != nil && l.y.once {
			continue
		}
		l.s.y = c.at(l.y, l.s.e)
		for i, r := range l.x {
			if r.leaf != nil {
				l.s.x[i] = c.code.leaves[r.leaf]
			} else {
				l.s.x[i] = c.at(c.place[r.id], r)
			}
		}
	}
}

// at returns the elements of e in the memory of region r.
func (c *compiler[T]) at(r region, e *expr) []T {
	from, end := c.code.memory, r.at+size(e.shape)
	if r.once {
		from = c.code.first.memory
	}
	return from[r.at:end:end]
}

// plan finds which expressions share a buffer and how often each buffer is read.
func (c *compiler[T]) plan(order, outputs []*expr) {
	for _, e := range order {
		c.root[e.id] = e
		if _, ok := e.op.(reshape); ok {
			c.root[e.id] = c.root[e.in[0].id]
		}
	}
	for _, e := range order {
		for _, in := range e.in {
			c.left[c.root[in.id].id]++
			if !c.each(in) && c.each(e) {
				c.keep[c.root[in.id].id] = true
			}
		}
	}
	for _, e := range outputs {
		c.keep[c.root[e.id].id] = true
	}
}

// each reports whether e is computed in every run.
func (c *compiler[T]) each(e *expr) bool { return c.varying == nil || c.varying.has(e) }

func (c *compiler[T]) emit(e *expr) error {
	switch {
	case e.leaf != nil:
		return c.leaf(e.leaf)
	case c.root[e.id] != e:
		c.release(e.in)
		return nil
	}
	s, err := newStep[T](e)
	if err != nil {
		return err
	}
	l := link[T]{s: s, y: c.room(e)}
	c.place[e.id] = l.y
	for i, a := range e.in {
		r := c.root[a.id]
		l.x = append(l.x, r)
		if r.leaf != nil {
			c.code.uses[r.leaf] = append(c.code.uses[r.leaf], operand[T]{s, i})
		}
	}
	c.links = append(c.links, l)
	c.release(e.in)
	if c.each(e) {
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

// room returns the region for e's value. An expression that is computed element by element
// takes the region of an operand that nothing else will read.
func (c *compiler[T]) room(e *expr) region {
	want := size(e.shape)
	for _, a := range e.in {
		if r := c.root[a.id]; elementwise(e) && c.left[r.id] == 1 && c.mayFree(r) && size(r.shape) == want {
			c.keep[r.id] = true // it is e's now
			return c.place[r.id]
		}
	}
	r := c.arena.take(want)
	r.once = !c.each(e)
	return r
}

// elementwise reports whether element i of e depends on element i alone of every
// operand that has as many elements.
func elementwise(e *expr) bool {
	_, ok := rangesOf(e.op)
	return ok
}

// release gives back the memory of operands that nothing else will read.
func (c *compiler[T]) release(in []*expr) {
	for _, a := range in {
		r := c.root[a.id]
		c.left[r.id]--
		if c.left[r.id] == 0 && c.mayFree(r) {
			c.arena.give(c.place[r.id])
		}
	}
}

// mayFree reports whether a root's memory is of no use after its last reader.
func (c *compiler[T]) mayFree(r *expr) bool { return !c.keep[r.id] && r.leaf == nil }

// copyLeaf makes each run copy the value of an output that is a leaf, or one reshaped.
func (c *compiler[T]) copyLeaf(e *expr) {
	if _, ok := c.copies[e]; ok {
		return
	}
	root, to := c.root[e.id], c.arena.take(size(e.shape))
	s := &step[T]{e: e, x: make([][]T, 1), f: func(y []T, x [][]T) error { copy(y, x[0]); return nil }}
	c.copies[e] = to
	c.links = append(c.links, link[T]{s, to, []*expr{root}})
	c.code.uses[root.leaf] = append(c.code.uses[root.leaf], operand[T]{s, 0})
	c.code.each = append(c.code.each, s)
}

// wrap makes a tensor of the memory of an output.
func wrap[T kernel.Float](shape tensor.Shape, data []T) *tensor.Dense {
	if len(shape) == 0 {
		shape = tensor.Shape{1}
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data))
}

// newStep binds the loops of an operation to its shapes.
func newStep[T kernel.Float](e *expr) (*step[T], error) {
	f, err := loopOf[T](e.op, shapesOf(e.in), e.shape)
	return &step[T]{e: e, f: f, x: make([][]T, len(e.in))}, err
}

// loopOf returns the loop of an operation for one element type.
func loopOf[T kernel.Float](op computed, in []tensor.Shape, out tensor.Shape) (func(y []T, x [][]T) error, error) {
	l := op.Forward(in, out)
	f, ok := any(l.F64).(func([]T, [][]T) error)
	if !ok {
		f = any(l.F32).(func([]T, [][]T) error)
	}
	if f == nil {
		return nil, fmt.Errorf("graph: %s: the operation has no loop for %T", op.Key(), T(0))
	}
	return f, nil
}
