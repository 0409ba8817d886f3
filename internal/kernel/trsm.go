package kernel

// Trsm solves a triangular system and overwrites its m×n right-hand side B by the solution
// X. The system is op(L)·X = B with L [m,m] or, if right is set, X·op(L) = B with L [n,n].
// L is lower triangular, and Trsm does not read its upper triangle. op(L) is Lᵀ if trans
// is set. Trsm multiplies by reciprocals instead of dividing. A zero on the
// diagonal gives Inf or NaN.
func Trsm[T Float](right, trans bool, m, n int, l []T, ldl int, b []T, ldb int) {
	trsm(right, false, trans, m, n, l, ldl, b, ldb)
}

// InverseLower returns L⁻¹ [n,n] for a lower triangular L.
func InverseLower(n int, l []float64) []float64 {
	inverse := make([]float64, n*n)
	for i := range n {
		inverse[i*n+i] = 1
	}
	Trsm(false, false, n, n, l, n, inverse, n)
	return inverse
}

// trsm is Trsm for both kinds of triangles. If upper is set, it takes the upper triangle of l instead of
// the lower triangle.
func trsm[T Float](right, upper, trans bool, m, n int, l []T, ldl int, b []T, ldb int) {
	size, systems := m, n
	if right {
		size, systems = n, m
	}
	checkMatrix("Trsm", "L", l, size, size, ldl)
	checkMatrix("Trsm", "B", b, m, n, ldb)
	if m == 0 || n == 0 {
		return
	}
	// X·op(L) = B is the same system as op(L)ᵀ·Xᵀ = Bᵀ.
	s := solver[T]{right, trans != right != upper, size, systems, triangle[T]{l, ldl, upper}, b, ldb}
	work := size * size * systems // twice the multiplications, which have half the speed of a large product
	parts := min(shares(work), systems/solverLeast)
	if parts < 2 {
		s.Run(0, 1)
		return
	}
	w := spaces[T]().get()
	w.solver = s
	Share(parts, Nanoseconds(work), &w.solver)
	spaces[T]().put(w)
}

// solver solves op(L)·X = B: a number of independent systems, each with size unknowns. A
// system is a column of B or, if right is set, a row of B.
type solver[T Float] struct {
	right, trans  bool        // whether systems are rows of B, and whether op transposes L
	size, systems int         // unknowns of a system, and number of systems
	l             triangle[T] // L [size,size]
	b             []T         // right-hand sides, which the solutions overwrite
	ldb           int         // elements between the rows of b
}

// triangle is a lower triangle L, stored as its transpose if upper is set.
type triangle[T Float] struct {
	s     []T  // elements of the stored matrix
	ld    int  // elements between the rows of s
	upper bool // whether s holds Lᵀ
}

// from returns the elements from row i and column j of L on.
func (l triangle[T]) from(i, j int) []T {
	if l.upper {
		i, j = j, i
	}
	return l.s[i*l.ld+j:]
}

const (
	solverBlock = 8   // unknowns substituted directly
	solverRight = 64  // unknowns up to which rows of B are turned into columns
	solverChunk = 128 // systems turned at a time
	solverLeast = 32  // systems that are cut no further
)

// Run solves one part of the systems.
func (s *solver[T]) Run(part, parts int) {
	lo, hi := cut(s.systems, solverLeast, part, parts)
	step, _ := strides(!s.right, s.ldb)
	h := *s
	h.systems, h.b = hi-lo, from(s.b, lo*step)
	if h.systems > 0 {
		h.solve(0, s.size)
	}
}

// solve solves for the unknowns lo..hi in two halves. It solves for one half, subtracts the terms of
// this half from the right-hand sides of the other half by a matrix product, and then solves
// for the other half.
func (s *solver[T]) solve(lo, hi int) {
	switch {
	case s.right && hi-lo <= solverRight:
		s.turn(lo, hi)
		return
	case hi-lo <= solverBlock:
		s.substitute(lo, hi-lo)
		return
	}
	mid := lo + half(hi-lo, solverBlock)
	if s.trans {
		s.solve(mid, hi)
		s.eliminate(lo, mid, mid, hi)
		s.solve(lo, mid)
	} else {
		s.solve(lo, mid)
		s.eliminate(mid, hi, lo, mid)
		s.solve(mid, hi)
	}
}

// eliminate subtracts the terms of the solved unknowns first..last from the right-hand
// sides lo..hi.
func (s *solver[T]) eliminate(lo, hi, first, last int) {
	l, stored := s.l.from(max(lo, first), min(lo, first)), s.l.upper
	n, k := hi-lo, last-first
	if s.right {
		g := gemm[T]{false, s.trans == stored, s.systems, n, k, -1, s.b[first:], s.ldb, l, s.l.ld, s.b[lo:], s.ldb, true, false, 0}
		g.run()
	} else {
		g := gemm[T]{s.trans != stored, false, n, s.systems, k, -1, l, s.l.ld, s.b[first*s.ldb:], s.ldb, s.b[lo*s.ldb:], s.ldb, true, false, 0}
		g.run()
	}
}

// turn solves for the unknowns lo..hi of systems that are rows of B. It works on a
// transposed copy, in which the systems are columns.
func (s *solver[T]) turn(lo, hi int) {
	w := spaces[T]().get()
	w.x = grow(w.x, solverRight*solverChunk)
	n := hi - lo
	l := triangle[T]{s.l.from(lo, lo), s.l.ld, s.l.upper}
	h := solver[T]{trans: s.trans, l: l, b: w.x, ldb: solverChunk}
	for i := 0; i < s.systems; i += solverChunk {
		h.systems = min(solverChunk, s.systems-i)
		b := s.b[i*s.ldb+lo:]
		transpose(h.b, h.ldb, b, s.ldb, h.systems, n)
		h.solve(0, n)
		transpose(b, s.ldb, h.b, h.ldb, n, h.systems)
	}
	spaces[T]().put(w)
}

// substitute solves for the n <= solverBlock unknowns from lo on.
func (s *solver[T]) substitute(lo, n int) {
	var l [solverBlock * solverBlock]T
	b, ldb := s.b[lo*s.ldb:], s.ldb
	s.order(&l, lo, n)
	if n == solverBlock {
		solveBlock(&l, b, ldb, s.systems, s.trans)
	} else {
		solveGo(&l, b, ldb, n, s.systems, s.trans)
	}
}

// order copies the block of L at lo in the order in which its n unknowns are solved for,
// which is backwards for a transposed L. It puts reciprocals on the diagonal.
func (s *solver[T]) order(l *[solverBlock * solverBlock]T, lo, n int) {
	row, col := strides(s.l.upper, s.l.ld)
	block := s.l.from(lo, lo)
	for i := range n {
		for j := range i + 1 {
			v := block[i*row+j*col]
			if i == j {
				v = 1 / v
			}
			if s.trans {
				l[(n-1-j)*solverBlock+n-1-i] = v
			} else {
				l[i*solverBlock+j] = v
			}
		}
	}
}

// solveGo solves for n unknowns of all systems. Each unknown is a row of b; the last row
// comes first if backwards is set.
func solveGo[T Float](l *[solverBlock * solverBlock]T, b []T, ldb, n, systems int, backwards bool) {
	row := func(i int) []T {
		if backwards {
			i = n - 1 - i
		}
		return b[i*ldb:][:systems]
	}
	for i := range n {
		x := row(i)
		for j := range i {
			Axpy(-l[i*solverBlock+j], row(j), x)
		}
		Scale(x, l[i*solverBlock+i], x)
	}
}
