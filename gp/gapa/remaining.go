package gapa

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// memory is what the Gaussian processes of a layer are conditioned on: the values u at M
// rows, at which each process has its mean for its value.
//
// All processes have the kernel ρ(u,u') = exp(−‖u − u'‖²/(2ℓ²)) of all d values, times a
// variance of its own, so that they share the part r(u) of the variance that remains,
//
//	r(u) = 1 − ρ_S(u)ᵀ (R_SS + τI)⁻¹ ρ_S(u),
//
// where S are the k rows nearest to u.
type memory struct {
	*index              // the values u at the rows [M,d]
	neighbours int      // k
	length     float64  // ℓ
	noise      float64  // τ
	centres    *centres // nil: each point has the rows nearest to itself
}

// remaining returns r [n] at the first n rows of u [·,d]. Row i is conditioned on all rows
// but skip(i).
func (m *memory) remaining(u *tensor.Dense, n int, skip func(i int) int) ([]float64, error) {
	return newRemains(m, kernel.Threads()).at(u, n, skip)
}

// remains computes r, and keeps the memory for the computation.
type remains struct {
	*memory                 // the rows that are kept
	search  searchJob       // finds neighbours or centres
	skip    func(i int) int // the row that input i may not find; −1: none
	out     []float64       // r by input
	spaces  []space         // of each thread
	errs    []error         // likewise
}

func newRemains(m *memory, threads int) *remains {
	r := &remains{memory: m, spaces: make([]space, threads), errs: make([]error, threads)}
	r.search = searchJob{index: m.index, k: min(m.neighbours, m.m), visit: r.local, finders: make([]finder, threads)}
	if m.centres != nil {
		r.search.index, r.search.k, r.search.visit = m.centres.index, 1, r.central
	}
	return r
}

// bytes is the memory of a thread beside the rows.
func (r *remains) bytes() int64 {
	k := min(r.neighbours, r.m)
	return gp.Numbers(k, k+r.d) + gp.Numbers(searchRows, min(searchPoints, r.search.m))
}

// at returns what memory.remaining returns. The next call of at overwrites this slice.
func (r *remains) at(u *tensor.Dense, n int, skip func(i int) int) ([]float64, error) {
	r.out, r.skip = slices.Grow(r.out[:0], n)[:n], skip
	r.search.u, r.search.n, r.search.skip = u, n, skip
	if r.centres != nil {
		r.search.skip = none
	}
	clear(r.errs)
	kernel.Parallel(r.search.parts(), &r.search)
	for _, err := range r.errs {
		if err != nil {
			return nil, err
		}
	}
	return r.out, nil
}

// local sets r of row i from its neighbours found.
func (r *remains) local(part, i int, found []neighbour) {
	s := &r.spaces[part]
	s.load(r.memory, r.search.u, i, found)
	var ok bool
	if r.out[i], ok = s.remaining(r.length, r.noise); !ok && r.errs[part] == nil {
		r.errs[part] = fmt.Errorf("input %d: the kernel of its %d neighbours has no Cholesky factor with the relative noise %g; expected more noise", i, len(found), r.noise)
	}
}

// none skips nothing.
func none(int) int { return -1 }

// space holds the neighbours of a point.
type space struct {
	k        int       // number of neighbours
	away     []float64 // z − u, [k,d]
	gram     []float64 // their inner products [k,k]
	rho, row []float64 // [k], and a row of at least d and k numbers
	room     room      // kept between points
}

// reserve makes room for the neighbours in a memory.
func (s *space) reserve(m *memory) {
	if most := min(m.neighbours, m.m); s.rho == nil {
		s.away, s.gram = make([]float64, most*m.d), make([]float64, most*most)
		s.rho, s.row = make([]float64, most), make([]float64, max(m.d, most))
	}
}

// correlate makes squared distances in rho the kernel's values.
func (s *space) correlate(length float64) {
	rho := s.rho[:s.k]
	kernel.Scale(rho, -1/(2*length*length), rho)
	kernel.Exp(rho, rho)
}

// load sets the neighbours of row i of u.
func (s *space) load(m *memory, u *tensor.Dense, i int, found []neighbour) {
	s.k = len(found)
	s.reserve(m)
	dense.Copy(s.row[:m.d], u, i*m.d)
	for j, f := range found {
		row := s.away[j*m.d : (j+1)*m.d]
		kernel.Sub(row, m.row(row, f.at), s.row[:m.d])
	}
	kernel.Syrk(false, s.k, m.d, 1, s.away, m.d, 0, s.gram, s.k)
}

// farthest is an exponent of the kernel at which its value is 0: the smallest positive float64 is exp(−744.4).
const farthest = -750

// remaining returns r, and whether it could be computed. It overwrites the neighbours. The
// inner products are taken between differences from u, so that small distances keep their
// digits.
func (s *space) remaining(length, noise float64) (float64, bool) {
	k, g, rho := s.k, s.gram, s.rho[:s.k]
	scale := -1 / (2 * length * length)
	for i := range k {
		rho[i] = g[i*k+i]
	}
	if k > 0 && scale*slices.Min(rho) < farthest {
		return 1, true // far out the distances among the rows are lost beside those from u, and ρ is 0
	}
	for i := range k {
		row := g[i*k : i*k+i+1]
		for j := range row {
			row[j] = scale * max(rho[i]+rho[j]-2*row[j], 0)
		}
		row[i] = 0
		kernel.Exp(row, row)
		row[i] += noise
	}
	if kernel.Cholesky(k, g, k) >= 0 {
		return math.NaN(), false
	}
	s.correlate(length)
	kernel.Trsm(false, false, k, 1, g, k, rho, 1)
	return max(1-kernel.Dot(rho, rho), 0), true
}

// firstQuartile returns the distance that a quarter of the pairs of rows of u [n,d] do not
// exceed, with linear interpolation.
func firstQuartile(u *tensor.Dense) float64 {
	n, d := u.Shape()[0], u.Shape()[1]
	a, b := make([]float64, d), make([]float64, d)
	var all []float64
	for i := range n {
		dense.Copy(a, u, i*d)
		for j := range i {
			dense.Copy(b, u, j*d)
			kernel.Sub(b, b, a)
			all = append(all, math.Sqrt(kernel.Dot(b, b)))
		}
	}
	return quantile(all, 0.25)
}

// quantile returns the q-quantile of numbers, which it sorts, with linear interpolation; 0
// of none.
func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	at := q * float64(len(v)-1)
	low := int(at)
	high := min(low+1, len(v)-1)
	return v[low] + (at-float64(low))*(v[high]-v[low])
}
