package graph

import (
	"maps"

	"github.com/go-valla/valla/internal/kernel"
)

// schedule returns expressions, which are in the order in which they were made, in one that
// needs less memory. An expression comes as soon as its operands are there if it gives back as
// much memory as it takes, or takes next to none: rows of Jacobians, of which inner products
// with two others are all that is wanted, do not wait until the rows of all layers are there.
func (c *compiler[T]) schedule(order []*expr) []*expr {
	s := &scheduler[T]{compiler: c, left: maps.Clone(c.left), missing: map[*expr]int{}, users: map[*expr][]*expr{}}
	for _, e := range order {
		s.missing[e] = 0
		for _, a := range e.in {
			if _, ok := s.missing[a]; ok {
				s.missing[e]++
				s.users[a] = append(s.users[a], e)
			}
		}
	}
	for _, e := range order {
		s.take(e)
	}
	return s.order
}

// scheduler is a schedule in the making.
type scheduler[T kernel.Float] struct {
	*compiler[T]
	order   []*expr           // the schedule so far
	left    map[*expr]int     // uses of a root's memory still to come
	missing map[*expr]int     // operands that are not there yet; -1: the expression is there itself
	users   map[*expr][]*expr // of an expression, one for each use

	preparing bool // prepare is at work and is not called again
}

// take makes e the next expression, and those that are then to come at once.
func (s *scheduler[T]) take(e *expr) {
	if s.missing[e] < 0 {
		return
	}
	s.prepare(e)
	s.order, s.missing[e] = append(s.order, e), -1
	for _, a := range e.in {
		s.left[s.root[a]]--
	}
	for _, u := range s.users[e] {
		s.missing[u]--
	}
	for _, u := range s.users[e] {
		if s.missing[u] == 0 && s.thrifty(u) {
			s.take(u)
		}
	}
}

// thrifty reports whether e, whose operands are there, gives back as much memory as it takes, or
// takes next to no memory beside the memory of an operand.
func (s *scheduler[T]) thrifty(e *expr) bool {
	given := 0
	uses := map[*expr]int{}
	for _, a := range e.in {
		r := s.root[a]
		if uses[r]++; s.left[r] == uses[r] && s.mayFree(r) {
			given += size(r.shape)
		}
		if isSmall(size(r.shape), size(e.shape)) {
			return true
		}
	}
	return s.root[e] != e || size(e.shape) <= given
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
	for _, u := range s.users[e] {
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
	if missing, ok := s.missing[a]; !ok || missing < 0 {
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
	if missing, ok := s.missing[a]; !ok || missing < 0 {
		return
	}
	for _, b := range a.in {
		s.bring(b)
	}
	s.take(a)
}
