package gapa

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// centres are rows that stand for the points near them: a point is conditioned on the rows
// nearest to its nearest centre. The kernel of these rows is factored once for each centre.
type centres struct {
	*index         // the centres
	groups []group // of each centre
}

// group are the k rows nearest to a centre.
type group struct {
	rows []neighbour // with their squared distances from the centre
	away []float64   // their differences from it [k,d]
	half []float64   // the inverse of the Cholesky factor of their kernel with noise [k,k]
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
	c := &centres{index: newIndex(data.TakeRows(m.z, dense.Indices(n)))}
	c.groups = make([]group, n)
	failed, spaces := make([]bool, n), make([]space, kernel.Threads())
	m.search(len(spaces), c.z, n, m.neighbours, none, func(part, i int, found []neighbour) {
		s := &spaces[part]
		s.load(m, c.z, i, found)
		away := slices.Clone(s.away[:s.k*m.d])
		_, ok := s.remaining(m.length, m.noise)
		failed[i], c.groups[i] = !ok, group{slices.Clone(found), away, kernel.InverseLower(s.k, s.gram)}
	})
	if i := slices.Index(failed, true); i >= 0 {
		return nil, fmt.Errorf("row %d that is kept: the kernel of its %d neighbours has no Cholesky factor with the relative noise %g; expected more noise", i, len(c.groups[i].rows), m.noise)
	}
	return c, nil
}

// central sets r of row i from its nearest centre.
func (r *remains) central(part, i int, nearest []neighbour) {
	m, at := r.memory, nearest[0].at
	c, u := m.centres, r.search.u
	g, own := &c.groups[at], r.skip(i)
	if slices.ContainsFunc(g.rows, func(n neighbour) bool { return n.at == own }) {
		r.local(part, i, slices.DeleteFunc(slices.Clone(g.rows), func(n neighbour) bool { return n.at == own }))
		return
	}
	s := &r.spaces[part]
	s.reserve(m)
	s.k = len(g.rows)
	c.distances(s, g, u, i, at)
	s.correlate(m.length)
	kernel.Gemm(false, false, s.k, 1, s.k, 1, g.half, s.k, s.rho, 1, 0, s.row, 1)
	r.out[i] = max(1-kernel.Dot(s.row[:s.k], s.row[:s.k]), 0)
}

// distances sets rho to the squared distances of a group's rows from row i of u: with the difference e of u from the centre and w of a
// row, ‖e‖² − 2 e·w + ‖w‖². They are computed in float64, because the inverse of the rows' kernel enlarges their rounding.
func (c *centres) distances(s *space, g *group, u *tensor.Dense, i, at int) {
	e := numbers[float64](&s.room, 2*c.d)
	e, centre := e[:c.d], e[c.d:]
	dense.Copy(e, u, i*c.d)
	kernel.Sub(e, e, c.row(centre, at))
	rho := s.rho[:s.k]
	kernel.Gemm(false, false, s.k, 1, c.d, -2, g.away, c.d, e, 1, 0, rho, 1)
	square := kernel.Dot(e, e)
	for j, v := range rho {
		rho[j] = max(square+v+g.rows[j].away, 0)
	}
}
