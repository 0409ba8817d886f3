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
	order   []*expr
	left    map[*expr]int     // uses of a root's memory still to come
	missing map[*expr]int     // operands that are not there yet; -1: the expression is there itself
	users   map[*expr][]*expr // of an expression, one for each use
}

// take makes e the next expression, and those that are then to come at once.
func (s *scheduler[T]) take(e *expr) {
	if s.missing[e] < 0 {
		return
	}
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
// takes next to none beside that of an operand.
func (s *scheduler[T]) thrifty(e *expr) bool {
	given := 0
	uses := map[*expr]int{}
	for _, a := range e.in {
		r := s.root[a]
		if uses[r]++; s.left[r] == uses[r] && s.mayFree(r) {
			given += size(r.shape)
		}
		if isSmall(r.shape, e.shape) {
			return true
		}
	}
	return s.root[e] != e || size(e.shape) <= given
}
