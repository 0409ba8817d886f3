package graph

import "github.com/go-valla/valla/internal/kernel"

// reduction is a loop that adds to the elements of a smaller array, its array 0. Threads
// share those elements, so that any number of threads sums each element in the same order.
type reduction[T kernel.Float] struct {
	parts []*cursor  // one for each part of the loop
	cost  int        // nanoseconds on one thread, roughly
	step  []int      // of the arrays, from one inner loop to the next
	add   addRows[T] // the inner loops
	y     []T        // the result of the run under way
	x     [][]T      // the operands of the run under way
}

// addRows runs count inner loops. The first begins at the arrays' offsets; each of the
// others begins one step further on.
type addRows[T kernel.Float] func(y []T, x [][]T, off, step []int, count int)

// reduced returns a loop that sets array 0 to zeros and runs add over l.
func reduced[T kernel.Float](l loop, add addRows[T]) func(y []T, x [][]T) error {
	r := &reduction[T]{parts: l.split(), cost: l.cost(), step: l.rowStep(), add: add}
	return r.run
}

func (r *reduction[T]) run(y []T, x [][]T) error {
	clear(y)
	r.y, r.x = y, x
	kernel.Share(len(r.parts), r.cost, r)
	return nil
}

// Run implements kernel.Job.
func (r *reduction[T]) Run(part, _ int) {
	c := r.parts[part]
	count := c.rows()
	for range c.outer() / count {
		r.add(r.y, r.x, c.off, r.step, count)
		c.advance(len(c.n) - 3) // past the rows
	}
}

// cost is about how many nanoseconds it takes to add the elements, and to begin each row.
func (l loop) cost() int { return size(l.n)/8 + l.outer()*4 }

// manyUnits is how many units of work are enough to share them evenly.
const manyUnits = 16

// split returns cursors for parts of the loop that stand at different elements of array 0: for
// ranges of an outer dimension along which that array moves, the outermost one that is long enough,
// so that each part reads what lies together, or else the longest.
func (l loop) split() []*cursor {
	along := -1
	for d, n := range l.n[:len(l.n)-1] {
		if l.strides[0][d] != 0 && (along < 0 || l.n[along] < min(n, manyUnits)) {
			along = d
		}
	}
	if along < 0 {
		return []*cursor{l.cursor()}
	}
	parts := kernel.Parts(l.n[along], l.cost(), fusing.share)
	cursors := make([]*cursor, parts)
	for i := range cursors {
		lo, hi := l.n[along]*i/parts, l.n[along]*(i+1)/parts
		part := l
		part.n = append([]int(nil), l.n...)
		part.n[along] = hi - lo
		cursors[i] = part.cursor()
		for k := range l.strides {
			cursors[i].off[k] = lo * l.strides[k][along]
		}
	}
	return cursors
}
