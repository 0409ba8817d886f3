package graph

import (
	"slices"

	"github.com/go-valla/valla/internal/kernel"
)

// schedule returns expressions, which are in the order in which they were made, in one that
// needs less memory. An expression comes as soon as its operands are there if it gives back as
// much memory as it takes, or takes next to none: rows of Jacobians, of which inner products
// with two others are all that is wanted, do not wait until the rows of all layers are there.
func (c *compiler[T]) schedule(order []*expr) []*expr {
	s := &scheduler[T]{compiler: c, left: slices.Clone(c.left), missing: slices.Repeat([]int{there}, len(c.left)), users: make([][]*expr, len(c.left))}
	for _, e := range order {
		s.missing[e.id] = 0
		for _, a := range e.in {
			if s.missing[a.id] != there {
				s.missing[e.id]++
				s.users[a.id] = append(s.users[a.id], e)
			}
		}
	}
	for _, e := range order {
		s.take(e)
	}
	return s.order
}

// there is what is missing of an expression that is there.
const there = -1

// scheduler is a schedule in the making.
type scheduler[T kernel.Float] struct {
	*compiler[T]
	order   []*expr   // the schedule so far
	left    []int     // by id: uses of a root's memory still to come
	missing []int     // by id: operands that are not there yet; there: the expression is there itself, or comes from elsewhere
	users   [][]*expr // by id of an expression, one for each use

	preparing bool // prepare is at work and is not called again
}

// take makes e the next expression, and those that are then to come at once.
func (s *scheduler[T]) take(e *expr) {
	if s.missing[e.id] == there {
		return
	}
	s.prepare(e)
	s.order, s.missing[e.id] = append(s.order, e), there
	for _, a := range e.in {
		s.left[s.root[a.id].id]--
	}
	for _, u := range s.users[e.id] {
		s.missing[u.id]--
	}
	for _, u := range s.users[e.id] {
		if s.missing[u.id] == 0 && s.thrifty(u) {
			s.take(u)
		}
	}
}

// thrifty reports whether e, whose operands are there, gives back as much memory as it takes, or
// takes next to no memory beside the memory of an operand.
func (s *scheduler[T]) thrifty(e *expr) bool {
	given := 0
	for i, a := range e.in {
		r, uses := s.root[a.id], 0
		for _, b := range e.in[:i+1] {
			if s.root[b.id] == r {
				uses++
			}
		}
		if s.left[r.id] == uses && s.mayFree(r) {
			given += size(r.shape)
		}
		if isSmall(size(r.shape), size(e.shape)) {
			return true
		}
	}
	return s.root[e.id] != e || size(e.shape) <= given
}

// prepare takes what the users of a large e that may run in a chain with it read beside it, where
// this is much smaller: they then follow e, one after the other.
func (s *scheduler[T]) prepare(e *expr) {
	if size(e.shape) < fusing.from || s.preparing {
		return
	}
	s.preparing = true
	known := map[*expr]bool{e: false}
	for _, u := range s.readers(e) {
		for _, a := range u.in {
			if s.small(a, e, known) {
				s.bring(a)
			}
		}
	}
	s.preparing = false
}

// readers returns the users of e's memory that work element by element, or sum products.
func (s *scheduler[T]) readers(e *expr) []*expr {
	var list []*expr
	for _, u := range s.users[e.id] {
		_, sums := u.op.(contract)
		_, reshaped := u.op.(reshape)
		switch {
		case reshaped:
			list = append(list, s.readers(u)...)
		case sums || elementwise(u):
			list = append(list, u)
		}
	}
	return list
}

// small reports whether a, which may be there already, is much smaller than e and can be
// computed of such expressions. known holds those that have been looked at.
func (s *scheduler[T]) small(a, e *expr, known map[*expr]bool) bool {
	if s.missing[a.id] == there {
		return true
	}
	is, ok := known[a]
	if !ok {
		is = 4*size(a.shape) <= size(e.shape)
		for i := 0; is && i < len(a.in); i++ {
			is = s.small(a.in[i], e, known)
		}
		known[a] = is
	}
	return is
}

// bring takes a after its operands.
func (s *scheduler[T]) bring(a *expr) {
	if s.missing[a.id] == there {
		return
	}
	for _, b := range a.in {
		s.bring(b)
	}
	s.take(a)
}
