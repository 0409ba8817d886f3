package graph

import "github.com/go-valla/valla/internal/kernel"

// reduction is a loop that adds to the elements of a smaller array, its array 0. Threads
// share those elements, so that each is summed in the same order by any number of them.
type reduction[T kernel.Float] struct {
	parts []*cursor
	add   func(y []T, x [][]T, off []int) // one inner loop, from the arrays' offsets
	y     []T                             // of the run under way
	x     [][]T
}

// reduced returns the operation that runs add over l, beginning with zeros.
func reduced[T kernel.Float](l loop, add func(y []T, x [][]T, off []int)) func(y []T, x [][]T) error {
	r := &reduction[T]{parts: l.split(), add: add}
	return r.run
}

func (r *reduction[T]) run(y []T, x [][]T) error {
	clear(y)
	r.y, r.x = y, x
	kernel.Parallel(len(r.parts), r)
	return nil
}

// Run implements kernel.Job.
func (r *reduction[T]) Run(part, _ int) {
	c := r.parts[part]
	for range c.outer() {
		r.add(r.y, r.x, c.off)
		c.next()
	}
}

// split returns cursors for parts of the loop that stand at different elements of array 0:
// for ranges of the longest outer dimension along which that array moves.
func (l loop) split() []*cursor {
	along := -1
	for d, n := range l.n[:len(l.n)-1] {
		if l.strides[0][d] != 0 && (along < 0 || n > l.n[along]) {
			along = d
		}
	}
	if along < 0 || kernel.Threads() == 1 {
		return []*cursor{l.cursor()}
	}
	parts := max(1, min(l.n[along], partsPerThread*kernel.Threads(), size(l.n)/fusing.share))
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
