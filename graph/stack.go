package graph

import "github.com/go-valla/valla/internal/kernel"

// stack is an operation on each of a stack of matrices, which threads share.
type stack[T kernel.Float] struct {
	count, work int                         // matrices, and multiplications for each
	one         func(y []T, x [][]T, i int) // computes matrix i
	y           []T                         // the result of the run under way
	x           [][]T                       // the operands of the run under way
}

// stackWork is the number of multiplications that each part must get, and stackCall how many
// take as long as a call for one matrix, beside its own.
const (
	stackWork = 1 << 18
	stackCall = 1 << 11
)

// stacked returns the loop that calls one for each matrix i of a stack of count matrices;
// a call takes work multiplications.
func stacked[T kernel.Float](count, work int, one func(y []T, x [][]T, i int)) func(y []T, x [][]T) error {
	s := &stack[T]{count: count, work: work, one: one}
	return s.run
}

func (s *stack[T]) run(y []T, x [][]T) error {
	s.y, s.x = y, x
	work := s.count * (s.work + stackCall)
	kernel.Share(kernel.Parts(s.count, work, stackWork), kernel.Nanoseconds(work), s)
	return nil
}

// Run implements kernel.Job.
func (s *stack[T]) Run(part, parts int) {
	for i := s.count * part / parts; i < s.count*(part+1)/parts; i++ {
		s.one(s.y, s.x, i)
	}
}
