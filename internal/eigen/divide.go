package eigen

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/scratch"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

// divide overwrites d by the eigenvalues of the symmetric tridiagonal matrix with the diagonal d
// and the off-diagonal e, ascending, and q [n,n] by the eigenvectors, in columns. It uses Cuppen's
// method, which cuts the matrix into two smaller matrices and a correction of rank one (Gu and
// Eisenstat 1995). It overwrites e. The largest elements must be of order 1, because
// divide takes elements below 1e-100 for 0.
func divide(d, e, q []float64, work *scratch.Memory) error {
	for _, v := range [][]float64{d, e} {
		for i := range v {
			if math.Abs(v[i]) < 1e-100 {
				v[i] = 0
			}
		}
	}
	clear(q)
	t := division{n: len(d), d: d, e: e, q: q, work: work}
	return t.solve(0, t.n)
}

// division holds the eigenvalues of the solved parts in d, and their eigenvectors in the
// diagonal blocks of q.
type division struct {
	n    int             // order of the matrix
	d, e []float64       // diagonal [n] and off-diagonal [n−1]
	q    []float64       // [n,n]
	work *scratch.Memory // memory of intermediate results
}

const smallest = 24 // order of a part that is solved directly

// solve solves the part lo..hi.
func (t *division) solve(lo, hi int) error {
	n := hi - lo
	if n <= smallest {
		work := t.work.Zeros(max(1, 2*n-2))
		q := t.q[lo*t.n+lo:]
		if !(gonum.Implementation{}).Dsteqr(lapack.EVTridiag, n, t.d[lo:hi], t.e[lo:max(lo, hi-1)], q, t.n, work) {
			return fmt.Errorf("eigen: no eigenvalues of a tridiagonal matrix of order %d found", n)
		}
		return nil
	}
	mid := lo + n/2
	rho := math.Abs(t.e[mid-1])
	t.d[mid-1] -= rho
	t.d[mid] -= rho
	if err := t.solve(lo, mid); err != nil {
		return err
	}
	if err := t.solve(mid, hi); err != nil {
		return err
	}
	t.merge(lo, mid, hi, rho)
	return nil
}

// merge solves the part lo..hi, whose halves are solved. In the basis of their eigenvectors
// the part is D + ρ z zᵀ, where D holds the eigenvalues of the halves, and z is the last row
// of the first half's eigenvectors followed by the first row of the second half's.
func (t *division) merge(lo, mid, hi int, rho float64) {
	n := hi - lo
	z := t.work.Zeros(n)
	copy(z, t.q[(mid-1)*t.n+lo:(mid-1)*t.n+mid])
	copy(z[mid-lo:], t.q[mid*t.n+mid:mid*t.n+hi])
	if t.e[mid-1] < 0 {
		kernel.Neg(z[mid-lo:], z[mid-lo:])
	}
	kept, gone, rows := t.deflate(lo, mid, hi, z, rho)
	s := newSecular(rho, len(kept), t.work)
	for i, c := range kept {
		s.d[i], s.z[i] = t.d[lo+c], z[c]
	}
	s.find()
	by := ordered(len(kept), func(i int) extent { return rows[kept[i]] })
	s.vectors(by)
	for i, c := range by {
		by[i] = kept[c]
	}
	t.assemble(lo, mid, n, by, gone, rows, s)
}

// extent tells which rows of a column of eigenvectors are not 0.
type extent int8

const (
	upper extent = iota // rows of the first half
	all                 // rows of both halves
	lower               // rows of the second half
)

// deflate returns the columns that are still to be solved (kept), by ascending d, and the columns
// that are eigenvectors already (gone). A column is gone where z is negligible. Where two
// elements of d are almost equal, a rotation makes z negligible in one of the two columns. The
// extents of all columns are returned as rows.
func (t *division) deflate(lo, mid, hi int, z []float64, rho float64) (kept, gone []int, rows []extent) {
	d, largest := t.d[lo:hi], 0.0
	rows = make([]extent, hi-lo)
	for i := range d {
		if i >= mid-lo {
			rows[i] = lower
		}
		largest = max(largest, math.Abs(d[i]), math.Abs(z[i]))
	}
	const epsilon = 0x1p-52
	tol := 4 * epsilon * largest
	for _, i := range ordered(len(d), func(i int) float64 { return d[i] }) {
		if rho*math.Abs(z[i]) <= tol {
			gone = append(gone, i)
			continue
		}
		if len(kept) > 0 {
			j := kept[len(kept)-1]
			r := math.Hypot(z[i], z[j])
			c, s := z[i]/r, -z[j]/r
			if math.Abs((d[i]-d[j])*c*s) <= tol {
				t.rotate(lo, hi, j, i, c, s)
				z[i], z[j] = r, 0
				d[j], d[i] = d[j]*c*c+d[i]*s*s, d[j]*s*s+d[i]*c*c
				if rows[i] != rows[j] {
					rows[i] = all
				}
				kept[len(kept)-1] = i
				gone = append(gone, j)
				continue
			}
		}
		kept = append(kept, i)
	}
	return kept, gone, rows
}

// ordered returns the numbers from 0 to n−1 by ascending key. Equal keys keep the order of the numbers.
func ordered[K cmp.Ordered](n int, key func(i int) K) []int {
	order := dense.Indices(n)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(key(a), key(b)) })
	return order
}

// rotate turns columns j and i of the eigenvectors by the angle with cosine c and sine s.
func (t *division) rotate(lo, hi, j, i int, c, s float64) {
	for r := lo; r < hi; r++ {
		row := t.q[r*t.n+lo : r*t.n+hi]
		row[j], row[i] = c*row[j]+s*row[i], c*row[i]-s*row[j]
	}
}

// assemble writes the eigenvalues and eigenvectors of the whole part, by ascending
// eigenvalue. The kept columns are ordered by their rows, so that zeros are left out of the products.
func (t *division) assemble(lo, mid, n int, kept, gone []int, rows []extent, s *secular) {
	k, first, last := len(kept), 0, len(kept) // the columns from first on have lower rows, the columns before last have upper rows
	for first < k && rows[kept[first]] == upper {
		first++
	}
	for last > first && rows[kept[last-1]] == lower {
		last--
	}
	old, turned := t.work.Zeros(n*k), t.work.Take(n*k)
	rest := t.work.Zeros(n * len(gone))
	for r := range n {
		row, from, to := t.q[(lo+r)*t.n+lo:], 0, last
		if r >= mid-lo {
			from, to = first, k
		}
		for i := from; i < to; i++ {
			old[r*k+i] = row[kept[i]]
		}
		for i, c := range gone {
			rest[r*len(gone)+i] = row[c]
		}
	}
	if k > 0 {
		half := (mid - lo) * k
		kernel.Gemm(false, true, mid-lo, k, last, 1, old, k, s.diff, k, 0, turned, k)
		kernel.Gemm(false, true, n-mid+lo, k, k-first, 1, old[half+min(first, k-1):], k, s.diff[min(first, k-1):], k, 0, turned[half:], k)
	}
	t.collect(lo, n, k, gone, turned, rest, s)
}

// collect writes the eigenpairs of assemble by ascending eigenvalue. The turned columns [n,k] have the
// zeros of s as eigenvalues, and the rest have elements of d.
func (t *division) collect(lo, n, k int, gone []int, turned, rest []float64, s *secular) {
	values := t.work.Zeros(n)
	for i := range k {
		values[i] = s.root(i)
	}
	for i, c := range gone {
		values[k+i] = t.d[lo+c]
	}
	order := ordered(n, func(i int) float64 { return values[i] })
	for to, from := range order {
		t.d[lo+to] = values[from]
	}
	for r := range n {
		row := t.q[(lo+r)*t.n+lo : (lo+r)*t.n+lo+n]
		for to, from := range order {
			if from < k {
				row[to] = turned[r*k+from]
			} else {
				row[to] = rest[r*len(gone)+from-k]
			}
		}
	}
}
