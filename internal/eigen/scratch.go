package eigen

import "sync"

// scratch is the memory for what a factorisation computes on the way to its result. A fit
// that factors thousands of small matrices would otherwise leave most of its work to the
// garbage collector.
type scratch struct {
	all  []float64
	used int
}

// kept is the most numbers that are kept for another factorisation.
const kept = 1 << 20

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// take returns n zeros.
func (s *scratch) take(n int) []float64 {
	from := s.used
	s.used += n
	if s.used > len(s.all) {
		return make([]float64, n)
	}
	v := s.all[from:s.used:s.used]
	clear(v)
	return v
}

// release makes the memory free for the next factorisation, with room for one like this
// unless it is large.
func (s *scratch) release() {
	if s.used > len(s.all) && s.used <= kept {
		s.all = make([]float64, s.used)
	}
	s.used = 0
	scratches.Put(s)
}
