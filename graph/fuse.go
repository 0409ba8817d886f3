package graph

import (
	"unsafe"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// ranged is an operation whose loops can run over a part of the result's elements at a time:
// from…to−1, in row-major order. Several goroutines may run over different parts, each
// with a scratch of scratchLen elements.
type ranged interface {
	ranges(l loop) (f32 rangeLoop[float32], f64 rangeLoop[float64])
}

// rangesOf returns op if its loops can run over a part of the elements.
func rangesOf(op computed) (ranged, bool) {
	_, pair := op.(binary)
	if r, ok := op.(ranged); ok && (pair || isPointwise(op)) {
		return r, true
	}
	return nil, false
}

type rangeLoop[T kernel.Float] func(y []T, x [][]T, from, to int, scratch []T)

const scratchLen = 2 * spreadBlock

// fusing says what is fused; tests change it. Of blocks from 1<<10 to 1<<15 elements, predictions of a
// ResNet-20 took least time with 1<<14.
var fusing = struct {
	from  int // elements from which on chains are run block by block
	block int // elements in a block: few enough for all arrays' blocks to stay in the second-level cache
	share int // nanoseconds of work that each part must get
}{1 << 12, 1 << 14, 3000}

// chainSteps is the most steps of a chain: a new step is compared with all before it.
const chainSteps = 64

// chainUnit is the least number of elements of which the parts of a chain are multiples.
const chainUnit = 64

// chain is a run of operations element by element, each on arrays of as many elements, and of sums
// of products of as many elements that lie one after the other.
// It is run block by block, all operations on one block, by several threads. It may begin with a
// convolution, which then calls it as soon as rows of its result are there.
type chain[T kernel.Float] struct {
	start   convThen[T] // nil: there is none
	row     int         // elements in a row of the convolution's result
	size    int         // elements of each array of the chain
	unit    int         // parts and blocks are multiples of it: whole sums
	cost    int         // nanoseconds on one thread, roughly
	steps   []*step[T]
	loops   []rangeLoop[T] // one for each step; nil for the convolution
	scratch [][]T          // for each part; the chains of a program share it
	then    kernel.Then    // with start; made once, because runs allocate nothing
}

// Run implements kernel.Job.
func (c *chain[T]) Run(part, parts int) {
	units, block := (c.size+c.unit-1)/c.unit, max(1, fusing.block/c.unit)*c.unit
	from, to := units*part/parts*c.unit, min(c.size, units*(part+1)/parts*c.unit)
	for at := from; at < to; at += block {
		c.block(part, at, min(to, at+block))
	}
}

// block runs all operations on the elements from…to−1.
func (c *chain[T]) block(part, from, to int) {
	for i, s := range c.steps {
		if c.loops[i] != nil {
			c.loops[i](s.y, s.x, from, to, c.scratch[part])
		}
	}
}

func (c *chain[T]) run([]T, [][]T) error {
	if c.start == nil || !c.start(c.steps[0].y, c.steps[0].x, c.then) {
		kernel.Share(min(c.parts(), len(c.scratch)), c.cost, c)
	}
	return nil
}

// follow is what follows the convolution.
func (c *chain[T]) follow() kernel.Then {
	run := func(part, from, to int) { c.block(part, from*c.row, to*c.row) }
	return kernel.Then{Rows: max(1, fusing.block/c.row), Parts: len(c.scratch), Run: run}
}

// parts is the number of parts into which threads cut the chain. A convolution is much more work
// than what follows it.
func (c *chain[T]) parts() int {
	if c.start != nil {
		return kernel.Parts(c.size/c.row, c.size, 1)
	}
	return kernel.Parts(c.size/c.unit, c.cost, fusing.share)
}

// worthwhile reports whether the chain saves time: by several steps on a block, or by threads,
// among which sums and convolutions are shared without it, too.
func (c *chain[T]) worthwhile() bool {
	if len(c.steps) == 1 {
		return elementwise(c.steps[0].e) && c.parts() > 1
	}
	return len(c.steps) > 1
}

// elementCost is how many picoseconds an operation takes for an element, roughly: a function such as
// tanh takes longer than arithmetic, which waits for memory.
func elementCost(op computed) int {
	switch op.(type) {
	case binary, affine:
		return 250
	}
	return 1000
}

// fuse replaces runs of operations on large arrays, element by element, by chains.
func fuse[T kernel.Float](steps []*step[T]) []*step[T] {
	var out []*step[T]
	var chains []*chain[T]
	parts := 0
	for i := 0; i < len(steps); {
		c := &chain[T]{unit: 1}
		for i+len(c.steps) < len(steps) && len(c.steps) < chainSteps && c.take(steps[i+len(c.steps)]) {
		}
		c.unit = max(c.unit, chainUnit)
		if n := len(c.steps); c.worthwhile() {
			out = append(out, &step[T]{e: c.steps[n-1].e, f: c.run})
			chains, parts = append(chains, c), max(parts, c.parts())
			i += n
			continue
		}
		out = append(out, steps[i])
		i++
	}
	scratch := make([][]T, parts)
	for i := range scratch {
		scratch[i] = make([]T, scratchLen)
	}
	for _, c := range chains {
		if c.scratch = scratch; c.start != nil {
			c.then = c.follow()
		}
	}
	return out
}

// take appends a step if it may run block by block with those before it: element i of
// each array that the chain writes is read and written with element i only.
func (c *chain[T]) take(s *step[T]) bool {
	next, ok := linkOf(s)
	if !ok || next.size < fusing.from || len(c.steps) > 0 && next.size != c.size {
		return false
	}
	if c.unit%next.unit != 0 && next.unit%c.unit != 0 {
		return false
	}
	if c.start != nil && c.row%next.unit != 0 {
		return false // it sums rows of the convolution that may not be there yet
	}
	for _, before := range c.steps {
		for _, x := range before.x {
			if c.disturbs(s.y, x) {
				return false // it overwrites what later blocks of that step will read
			}
		}
		for _, x := range s.x {
			if c.disturbs(before.y, x) {
				return false // it reads other elements than its block's elements
			}
		}
		if c.disturbs(s.y, before.y) {
			return false
		}
	}
	if next.start != nil {
		if len(c.steps) > 0 {
			return false
		}
		c.start, c.row = next.start, next.unit
	}
	c.size, c.unit = next.size, max(c.unit, next.unit)
	c.steps, c.loops = append(c.steps, s), append(c.loops, next.loop)
	if next.loop != nil {
		c.cost += elementCost(s.e.op) * c.size / 1000
	}
	return true
}

// disturbs reports whether a and b share memory, unless both are the same array of the chain: then
// element i shares its place with element i alone.
func (c *chain[T]) disturbs(a, b []T) bool {
	return overlap(a, b) && !(len(a) == c.size && same(a, b))
}

// chained is a step as a part of a chain.
type chained[T kernel.Float] struct {
	start      convThen[T]  // see chain
	size, unit int          // see chain
	loop       rangeLoop[T] // nil with start
}

// linkOf returns s as a part of a chain, if it can be one.
func linkOf[T kernel.Float](s *step[T]) (chained[T], bool) {
	in, out := shapesOf(s.e.in), s.e.shape
	switch op := s.e.op.(type) {
	case conv:
		start := ofType[convThen[T]](op.followed())
		return chained[T]{start: start, size: len(s.y), unit: size(out[1:])}, start != nil
	case contract:
		each, f32, f64 := op.sums(in, out)
		if each == 0 || each > fusing.block {
			return chained[T]{}, false
		}
		unit := (chainUnit + each - 1) / each * each
		return chained[T]{size: each * len(s.y), unit: unit, loop: ofType[rangeLoop[T]](f32, f64)}, true
	}
	r, ok := rangesOf(s.e.op)
	if !ok {
		return chained[T]{}, false
	}
	f32, f64 := r.ranges(newLoop(out, append([]tensor.Shape{out}, in...)...))
	return chained[T]{size: len(s.y), unit: 1, loop: ofType[rangeLoop[T]](f32, f64)}, true
}

// ofType returns f32 or f64, whichever is an F.
func ofType[F any](f32, f64 any) F {
	if f, ok := f64.(F); ok {
		return f
	}
	return f32.(F)
}

// same reports whether a and b are the same elements.
func same[T any](a, b []T) bool { return len(a) == len(b) && &a[0] == &b[0] }

// overlap reports whether a and b share memory.
func overlap[T any](a, b []T) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	width := unsafe.Sizeof(a[0])
	pa, pb := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	return pa < pb+uintptr(len(b))*width && pb < pa+uintptr(len(a))*width
}
