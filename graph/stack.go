package graph

import "github.com/go-valla/valla/internal/kernel"

// stack is an operation on each of a stack of matrices, which threads share.
type stack[T kernel.Float] struct {
	count, work int // matrices, and multiplications for each
	one         func(y []T, x [][]T, i int)
	y           []T // of the run under way
	x           [][]T
}

// stackWork is the number of multiplications that each part must get: less than
// for one large product, since small ones are slower.
const stackWork = 1 << 19

// stacked returns the loop that calls one for each matrix i of a stack of count matrices;
// a call takes work multiplications.
func stacked[T kernel.Float](count, work int, one func(y []T, x [][]T, i int)) func(y []T, x [][]T) error {
	s := &stack[T]{count: count, work: work, one: one}
	return s.run
}

func (s *stack[T]) run(y []T, x [][]T) error {
	s.y, s.x = y, x
	kernel.Parallel(kernel.Parts(s.count, s.count*s.work, stackWork), s)
	return nil
}

// Run implements kernel.Job.
func (s *stack[T]) Run(part, parts int) {
	for i := s.count * part / parts; i < s.count*(part+1)/parts; i++ {
		s.one(s.y, s.x, i)
	}
}
