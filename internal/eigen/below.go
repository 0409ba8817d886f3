package eigen

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/scratch"
)

var errNotFinite = errors.New("eigen: the matrix and the bound must be finite")

// Below returns the k eigenvalues of the symmetric matrix a [n,n] that are below bound, ascending, and
// their eigenvectors in the columns of an [n,k] matrix. It overwrites a. The rounding of a, some n·2⁻⁵³
// of its norm, decides about an eigenvalue that is this near to bound. It is an error if a or bound is
// not finite.
//
// If k is small beside n, Below works on the tridiagonal form T. The number of negative pivots of
// T − xI is the number of eigenvalues below x (Givens 1954), so that bisection finds the eigenvalues.
// Inverse iterations find the eigenvectors (Golub and Van Loan 2013, 8.4). If k is large, or if the
// iterations do not converge, Below finds all eigenpairs and returns the first k.
func Below(n int, a []float64, bound float64) (values, vectors []float64, err error) {
	work := scratch.Get()
	defer scratch.Put(work)
	scale := unit(a)
	if scale-scale != 0 || bound-bound != 0 {
		return nil, nil, errNotFinite
	}
	if n == 0 {
		return nil, nil, nil
	}
	bound = max(-math.MaxFloat64, min(bound/scale, math.MaxFloat64)) // the ratio may overflow
	t := reduce(n, a, work.Take(n), work)
	s := newBisection(t)
	k := s.counts([4]float64{bound, bound, bound, bound})[0]
	if k == 0 {
		return nil, nil, nil
	}
	if fewOf*k <= n {
		values = s.values(k, bound)
		if rows, ok := s.vectors(values); ok {
			vectors = make([]float64, n*k)
			kernel.Transpose(vectors, k, rows, n, k, n)
		}
	}
	if vectors == nil {
		if values, vectors, err = t.below(bound); err != nil {
			return nil, nil, err
		}
	}
	t.apply(vectors, len(values))
	kernel.Scale(values, scale, values)
	return values, vectors, nil
}

// fewOf is the ratio n/k from which on Below looks for k eigenvalues alone. From a lower ratio, all
// eigenvalues take no longer.
const fewOf = 8

// below finds all eigenpairs of T and returns the pairs with values below bound.
func (t tridiagonal) below(bound float64) (values, vectors []float64, err error) {
	v := t.work.Take(t.n * t.n)
	if err := divide(t.d, t.e, v, t.work); err != nil {
		return nil, nil, err
	}
	k := 0
	for k < t.n && t.d[k] < bound {
		k++
	}
	return slices.Clone(t.d[:k]), part(v, t.n, t.n, k), nil
}

// bisection finds eigenvalues of a tridiagonal matrix T whose largest elements are of order 1.
type bisection struct {
	tridiagonal
	squares []float64 // [n−1], of the off-diagonal
	norm    float64   // bounds the magnitudes of the eigenvalues (Gershgorin), at least 1
}

func newBisection(t tridiagonal) *bisection {
	s := &bisection{tridiagonal: t, squares: t.work.Zeros(len(t.e)), norm: 1}
	before := 0.0
	for i, d := range t.d {
		after := 0.0
		if i < len(t.e) {
			after = math.Abs(t.e[i])
			s.squares[i] = max(after*after, 0x1p-1000) // no 0/0 in counts
		}
		s.norm = max(s.norm, before+math.Abs(d)+after)
		before = after
	}
	return s
}

// accuracy returns the distance of eigenvalues that count as equal.
func (s *bisection) accuracy() float64 { return 0x1p-53 * s.norm }

// counts returns the number of eigenvalues below each x, which is the number of negative pivots of
// T − xI. A pivot of 0 counts as a small positive number: the next pivot is −∞. Four counts at a time
// take as long as a single count, which would wait for its divisions.
func (s *bisection) counts(x [4]float64) [4]int {
	negative := func(v float64) int { return int(math.Float64bits(v) >> 63) }
	x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
	d := s.d[0]
	q0, q1, q2, q3 := d-x0, d-x1, d-x2, d-x3
	c0, c1, c2, c3 := negative(q0), negative(q1), negative(q2), negative(q3)
	for i, e := range s.squares {
		d := s.d[i+1]
		q0, q1, q2, q3 = d-x0-e/q0, d-x1-e/q1, d-x2-e/q2, d-x3-e/q3
		c0, c1, c2, c3 = c0+negative(q0), c1+negative(q1), c2+negative(q2), c3+negative(q3)
	}
	return [4]int{c0, c1, c2, c3}
}

// values returns the k smallest eigenvalues, which are below bound. Every count narrows the brackets of
// all k eigenvalues.
func (s *bisection) values(k int, bound float64) []float64 {
	lo, hi := s.work.Zeros(k), make([]float64, k)
	for j := range lo {
		lo[j], hi[j] = min(-s.norm, bound), min(bound, s.norm)
	}
	for j := range lo {
		for hi[j]-lo[j] > s.accuracy() {
			var x [4]float64
			for i := range x {
				x[i] = lo[j] + (hi[j]-lo[j])*float64(i+1)/5
			}
			if !(x[0] > lo[j] && x[3] < hi[j]) {
				break // there are no numbers between
			}
			for i, c := range s.counts(x) {
				for l := j; l < k; l++ {
					if c > l {
						hi[l] = min(hi[l], x[i])
					} else {
						lo[l] = max(lo[l], x[i])
					}
				}
			}
		}
		hi[j] = max(hi[j], hi[max(0, j-1)]) // ascending in spite of rounding
	}
	return hi
}

const (
	maxInverse = 4  // inverse iterations for a vector at one shift
	roundings  = 16 // the residual of an eigenvector over accuracy
)

// vectors returns the eigenvectors of the smallest eigenvalues in the rows of a matrix. ok is false if
// the vectors have not converged. Each vector is made orthogonal to the vectors before it, so that equal
// eigenvalues get different vectors. If many eigenvalues are almost equal, the vector of the eigenvalue
// nearest to the shift may grow so much that the other vectors drown in its rounding. A shift at some
// distance treats all these vectors alike.
func (s *bisection) vectors(values []float64) (rows []float64, ok bool) {
	rng := rand.New(rand.NewPCG(uint64(s.n), uint64(len(values))))
	rows = s.work.Zeros(len(values) * s.n)
	f := newShifted(s)
	for j, v := range values {
		x, before := rows[j*s.n:(j+1)*s.n], rows[:j*s.n]
		if !f.iterate(x, before, v, v, rng) && !f.iterate(x, before, v, v-roundings*s.accuracy(), rng) {
			return nil, false
		}
	}
	return rows, true
}

// iterate sets x to the eigenvector of the eigenvalue value by inverse iterations with a shift. It
// reports whether x has converged.
func (f *shifted) iterate(x, before []float64, value, shift float64, rng *rand.Rand) bool {
	for i := range x {
		x[i] = rng.Float64() - 0.5
	}
	f.factor(shift)
	for i := range maxInverse {
		f.solve(x)
		if orthonormalize(x, before) && i > 0 && f.residual(x, value) <= roundings*f.accuracy() {
			return true
		}
	}
	return false
}

// orthonormalize makes x orthogonal to the orthonormal rows, twice because of rounding, and gives x the
// length 1. It returns false if the length of x is 0 or not finite.
func orthonormalize(x, rows []float64) bool {
	for range 2 {
		norm := 0.0
		for _, v := range x {
			norm = max(norm, math.Abs(v))
		}
		if !(norm > 0) || math.IsInf(norm, 0) {
			return false
		}
		kernel.Scale(x, 1/norm, x)
		project(x, rows)
	}
	norm := math.Sqrt(kernel.Dot(x, x))
	kernel.Scale(x, 1/norm, x)
	return norm > 0
}

// project subtracts from x its parts along the orthonormal rows, one after the other.
func project(x, rows []float64) {
	for row := range slices.Chunk(rows, len(x)) {
		kernel.Axpy(-kernel.Dot(row, x), row, x)
	}
}

// shifted is the factorisation P(T − λI) = LU with exchanges of neighbouring rows.
type shifted struct {
	*bisection
	below      []float64 // the factor by which row i was subtracted from the next
	swapped    []bool    // rows i and i+1 were exchanged before
	u0, u1, u2 []float64 // 1/the diagonal of U, and the two diagonals above it
}

func newShifted(s *bisection) *shifted {
	take := func() []float64 { return s.work.Zeros(s.n) }
	return &shifted{s, take(), make([]bool, s.n), take(), take(), take()}
}

// factor factors T − λI. It raises a pivot below the rounding of T to this rounding.
func (f *shifted) factor(lambda float64) {
	raised := func(v float64) float64 {
		if math.Abs(v) < f.accuracy() {
			return math.Copysign(f.accuracy(), v)
		}
		return v
	}
	diag, right := f.d[0]-lambda, 0.0 // of the row that the elimination so far has left
	if f.n > 1 {
		right = f.e[0]
	}
	for i, left := range f.e {
		d, e := f.d[i+1]-lambda, 0.0
		if i+1 < len(f.e) {
			e = f.e[i+1]
		}
		if f.swapped[i] = math.Abs(left) > math.Abs(diag); f.swapped[i] {
			m := diag / left
			f.below[i], f.u0[i], f.u1[i], f.u2[i] = m, 1/raised(left), d, e
			diag, right = right-m*d, -m*e
		} else {
			inverse := 1 / raised(diag)
			m := left * inverse
			f.below[i], f.u0[i], f.u1[i], f.u2[i] = m, inverse, right, 0
			diag, right = d-m*right, e
		}
	}
	f.u0[f.n-1] = 1 / raised(diag)
}

// solve overwrites x by (T − λI)⁻¹ x.
func (f *shifted) solve(x []float64) {
	n := f.n
	for i := range n - 1 {
		if f.swapped[i] {
			x[i], x[i+1] = x[i+1], x[i]
		}
		x[i+1] -= f.below[i] * x[i]
	}
	x[n-1] *= f.u0[n-1]
	if n > 1 {
		x[n-2] = (x[n-2] - f.u1[n-2]*x[n-1]) * f.u0[n-2]
	}
	for i := n - 3; i >= 0; i-- {
		x[i] = (x[i] - f.u1[i]*x[i+1] - f.u2[i]*x[i+2]) * f.u0[i]
	}
}

// residual returns the largest element of (T − λI) x.
func (f *shifted) residual(x []float64, lambda float64) float64 {
	most, above := 0.0, 0.0
	for i, d := range f.d {
		v := (d-lambda)*x[i] + above
		if i < len(f.e) {
			v += f.e[i] * x[i+1]
			above = f.e[i] * x[i]
		}
		most = max(most, math.Abs(v))
	}
	return most
}
