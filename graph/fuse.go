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

// fusing says what is fused; tests change it.
var fusing = struct {
	from  int // elements from which on chains are run block by block
	block int // elements in a block: few enough for one of each array to stay in the cache
	share int // nanoseconds of work that each part must get
}{1 << 12, 1 << 12, 3000}

// chainUnit is what parts of a chain are multiples of, in elements.
const chainUnit = 64

// chain is a run of operations element by element, each on arrays of as many elements.
// It is run block by block, all operations on one block, by several threads.
type chain[T kernel.Float] struct {
	size    int
	cost    int // nanoseconds on one thread, roughly
	steps   []*step[T]
	loops   []rangeLoop[T]
	scratch [][]T // of each part; the chains of a program share it
}

// Run implements kernel.Job.
func (c *chain[T]) Run(part, parts int) {
	units := (c.size + chainUnit - 1) / chainUnit
	from, to := units*part/parts*chainUnit, min(c.size, units*(part+1)/parts*chainUnit)
	for at := from; at < to; at += fusing.block {
		end := min(to, at+fusing.block)
		for i, s := range c.steps {
			c.loops[i](s.y, s.x, at, end, c.scratch[part])
		}
	}
}

func (c *chain[T]) run([]T, [][]T) error {
	kernel.Share(min(c.parts(), len(c.scratch)), c.cost, c)
	return nil
}

// parts is the number of parts into which threads cut the chain.
func (c *chain[T]) parts() int { return kernel.Parts(c.size/chainUnit, c.cost, fusing.share) }

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
		c := &chain[T]{}
		for i+len(c.steps) < len(steps) && c.take(steps[i+len(c.steps)]) {
		}
		if n := len(c.steps); n > 0 && (n > 1 || c.parts() > 1) {
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
		c.scratch = scratch
	}
	return out
}

// take appends a step if it may run block by block with those before it: element i of
// each array that the chain writes is read and written with element i only.
func (c *chain[T]) take(s *step[T]) bool {
	r, ok := rangesOf(s.e.op)
	if !ok || len(s.y) < fusing.from || len(c.steps) > 0 && len(s.y) != c.size {
		return false
	}
	for _, before := range c.steps {
		for _, x := range before.x {
			if overlap(s.y, x) && !same(s.y, x) {
				return false // it overwrites what later blocks of that step will read
			}
		}
		for _, x := range s.x {
			if overlap(before.y, x) && !same(before.y, x) {
				return false // it reads other elements than those of its block
			}
		}
		if overlap(s.y, before.y) && !same(s.y, before.y) {
			return false
		}
	}
	f32, f64 := r.ranges(newLoop(s.e.shape, append([]tensor.Shape{s.e.shape}, shapesOf(s.e.in)...)...))
	f, ok := any(f64).(rangeLoop[T])
	if !ok {
		f = any(f32).(rangeLoop[T])
	}
	c.size, c.steps, c.loops = len(s.y), append(c.steps, s), append(c.loops, f)
	c.cost += elementCost(s.e.op) * c.size / 1000
	return true
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
