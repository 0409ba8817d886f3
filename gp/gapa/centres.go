package gapa

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// centres are rows that stand for the points near them: a point is conditioned on the rows
// nearest to its nearest centre, whose kernel is factored once.
type centres struct {
	*index
	near  [][]neighbour // the rows nearest to each centre
	roots [][]float64   // the Cholesky factors of their kernels with noise, [k,k]
}

// n is the number of centres.
func (c *centres) n() int {
	if c == nil {
		return 0
	}
	return c.m
}

// group makes the first n rows centres; with 0 there are none.
func (m *memory) group(n int) (err error) {
	if n > 0 {
		m.centres, err = newCentres(m, n)
	}
	return err
}

// newCentres makes the first n rows of a memory centres.
func newCentres(m *memory, n int) (*centres, error) {
	c := &centres{index: newIndex(data.TakeRows(m.z, seq(n)))}
	c.near, c.roots = make([][]neighbour, n), make([][]float64, n)
	failed := make([]bool, n)
	spaces := make([]space, kernel.Threads())
	m.search(c.z, n, m.neighbours, none, func(part, i int, found []neighbour) {
		s := &spaces[part]
		s.load(m, c.z, i, found)
		_, ok := s.remaining(m.length, m.noise)
		failed[i], c.near[i], c.roots[i] = !ok, found, slices.Clone(s.gram[:s.k*s.k])
	})
	if i := slices.Index(failed, true); i >= 0 {
		return nil, fmt.Errorf("row %d that is kept: the kernel of its %d neighbours has no Cholesky factor with the relative noise %g; expected more noise", i, len(c.near[i]), m.noise)
	}
	return c, nil
}

// remaining sets out to r at the first rows of u, as that of memory.
func (c *centres) remaining(m *memory, u *tensor.Dense, out []float64, skip func(i int) int) {
	spaces := make([]space, kernel.Threads())
	c.search(u, len(out), 1, none, func(part, i int, nearest []neighbour) {
		s, at := &spaces[part], nearest[0].at
		own := skip(i)
		if slices.ContainsFunc(c.near[at], func(n neighbour) bool { return n.at == own }) {
			others := slices.DeleteFunc(slices.Clone(c.near[at]), func(n neighbour) bool { return n.at == own })
			s.load(m, u, i, others)
			out[i], _ = s.remaining(m.length, m.noise)
			return
		}
		s.distances(m, u, i, c.near[at])
		out[i] = s.solve(c.roots[at], m.length)
	})
}
