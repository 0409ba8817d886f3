package kernel

// Trsm solves a triangular system in place of its m×n right-hand side B:
// op(L)·X = B with L m×m, or, if right is set, X·op(L) = B with L n×n. L is
// lower triangular, its upper triangle is not read, and op(L) is Lᵀ if trans
// is set. A zero on the diagonal gives Inf or NaN as division does.
func Trsm[T Float](right, trans bool, m, n int, l []T, ldl int, b []T, ldb int) {
	size := m
	if right {
		size = n
	}
	checkMatrix("Trsm", "L", l, size, size, ldl)
	checkMatrix("Trsm", "B", b, m, n, ldb)
	if m == 0 || n == 0 {
		return
	}
	s := solver[T]{right, trans, m, n, l, ldl, b, ldb}
	s.solve(0, size)
}

// solver is one triangular system; its methods work on the diagonal block
// from row lo to hi of L and the matching rows (columns, if right) of B.
type solver[T Float] struct {
	right, trans bool
	m, n         int
	l            []T
	ldl          int
	b            []T
	ldb          int
}

// solveBlock is the size below which the substitution is done directly.
const solveBlock = 16

// solve halves the block: one half is solved, its share subtracted from the
// other half by a matrix product, and then that is solved.
func (s *solver[T]) solve(lo, hi int) {
	if hi-lo <= solveBlock {
		s.substitute(lo, hi)
		return
	}
	mid := lo + ((hi-lo)/2+solveBlock-1)/solveBlock*solveBlock
	if s.forward() {
		s.solve(lo, mid)
		s.eliminate(mid, hi, lo, mid)
		s.solve(mid, hi)
	} else {
		s.solve(mid, hi)
		s.eliminate(lo, mid, mid, hi)
		s.solve(lo, mid)
	}
}

// forward tells whether the first unknowns are solved first.
func (s *solver[T]) forward() bool { return s.right == s.trans }

// eliminate subtracts the share of the solved unknowns from..to from the
// right-hand sides lo..hi.
func (s *solver[T]) eliminate(lo, hi, from, to int) {
	l := s.l[max(lo, from)*s.ldl+min(lo, from):]
	if s.right {
		Gemm(false, s.trans, s.m, hi-lo, to-from, -1, s.b[from:], s.ldb, l, s.ldl, 1, s.b[lo:], s.ldb)
	} else {
		Gemm(s.trans, false, hi-lo, s.n, to-from, -1, l, s.ldl, s.b[from*s.ldb:], s.ldb, 1, s.b[lo*s.ldb:], s.ldb)
	}
}

// substitute solves the block lo..hi row by row.
func (s *solver[T]) substitute(lo, hi int) {
	if s.forward() {
		for i := lo; i < hi; i++ {
			s.row(i, lo, i)
		}
	} else {
		for i := hi - 1; i >= lo; i-- {
			s.row(i, i+1, hi)
		}
	}
}

// row solves unknown i from the solved unknowns from..to.
func (s *solver[T]) row(i, from, to int) {
	for j := from; j < to; j++ {
		f := -s.l[max(i, j)*s.ldl+min(i, j)]
		if s.right {
			for r := range s.m {
				s.b[r*s.ldb+i] += f * s.b[r*s.ldb+j]
			}
		} else {
			Axpy(f, s.b[j*s.ldb:j*s.ldb+s.n], s.b[i*s.ldb:i*s.ldb+s.n])
		}
	}
	d := s.l[i*s.ldl+i]
	if s.right {
		for r := range s.m {
			s.b[r*s.ldb+i] /= d
		}
		return
	}
	row := s.b[i*s.ldb : i*s.ldb+s.n]
	for r := range row {
		row[r] /= d
	}
}
