package kernel

// Gemm computes C = alpha·op(A)·op(B) + beta·C, where op(A) is m×k, op(B) is k×n and C is
// m×n. op(A) is Aᵀ if transA is set, and A is then stored as k×m; op(B) is Bᵀ if transB is
// set, and B is then stored as n×k. C must not overlap A or B. The rows of A and of B may
// overlap: lda and ldb may be less than the number of columns. If beta is 0, C is written and
// never read. NaN and Inf propagate as in the naive loop; subnormal numbers may count as zero.
func Gemm[T Float](transA, transB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	rows, cols := shape(transA, m, k)
	checkRows("Gemm", "A", a, rows, cols, lda)
	rows, cols = shape(transB, k, n)
	checkRows("Gemm", "B", b, rows, cols, ldb)
	checkMatrix("Gemm", "C", c, m, n, ldc)
	if m == 0 || n == 0 {
		return
	}
	if k == 0 || beta != 0 {
		scale(m, n, beta, c, ldc)
	}
	g := gemm[T]{transA, transB, m, n, k, alpha, a, lda, b, ldb, c, ldc, beta != 0, false, 0}
	switch {
	case k == 0 || g.vector():
	case m == 1:
		g.blocks()
	case g.long():
		g.sumLong()
	default:
		g.share()
	}
}

// threadWork is the number of multiplications from which on one more thread saves more time than the
// sharing takes.
const threadWork = 1 << 18

// Nanoseconds returns about how long multiplications in a matrix product take, in nanoseconds.
func Nanoseconds(multiplications int) int { return multiplications / 32 }

// shares returns the number of threads that are to share an amount of work, in multiplications.
func shares(work int) int { return min(Threads(), work/threadWork) }

// share runs the product on several threads if it is large enough.
func (g *gemm[T]) share() {
	work := g.m * g.n * g.k
	parts := shares(work)
	if parts < 2 {
		g.run()
		return
	}
	w := spaces[T]().get()
	w.gemm = *g
	Share(parts, Nanoseconds(work), &w.gemm)
	spaces[T]().put(w)
}

// Run computes one part of C. The parts cut the longer side of C at the edges of tiles. They cut the
// shorter side if the parts become more even. Columns in quads belong to the last part. The parts
// never cut k, so that every element is summed in the same order.
func (g *gemm[T]) Run(part, parts int) {
	h := *g
	if g.cutRows(parts) {
		lo, hi := cut(g.m, tileRows, part, parts)
		step, _ := strides(g.transA, g.lda)
		h.m, h.a, h.c = hi-lo, from(g.a, lo*step), from(g.c, lo*g.ldc)
	} else {
		lo, hi := cut(g.n-g.quads, tileCols[T](), part, parts)
		if part == parts-1 {
			hi = g.n
		} else {
			h.quads = 0
		}
		_, step := strides(g.transB, g.ldb)
		if g.panels {
			step = g.k
		}
		h.n, h.b, h.c = hi-lo, from(g.b, lo*step), from(g.c, lo)
	}
	if h.m > 0 && h.n > 0 {
		h.run()
	}
}

// cutRows reports whether the parts are rows of C.
func (g *gemm[T]) cutRows(parts int) bool {
	rows, cols := largest(g.m, tileRows, parts), largest(g.n-g.quads, tileCols[T](), parts)
	if g.m > g.n {
		return rows < 1.1*cols
	}
	return 1.1*rows < cols
}

// largest returns the largest part of 0..n that cut makes, as a fraction of all units.
func largest(n, unit, parts int) float64 {
	units := max(1, (n+unit-1)/unit)
	return float64((units+parts-1)/parts) / float64(units)
}

// cut returns the bounds of a part of 0..n, at multiples of unit.
func cut(n, unit, part, parts int) (lo, hi int) {
	units := (n + unit - 1) / unit
	return min(n, units*part/parts*unit), min(n, units*(part+1)/parts*unit)
}

// from returns s[i:], or an empty slice if i is past the end.
func from[T Float](s []T, i int) []T { return s[min(i, len(s)):] }

// strides returns the steps between rows and columns of op(X).
func strides(trans bool, ld int) (row, col int) {
	if trans {
		return 1, ld
	}
	return ld, 1
}

// scale computes C = beta·C for an m×n matrix, without reading C if beta is 0.
func scale[T Float](m, n int, beta T, c []T, ldc int) {
	if beta == 1 {
		return
	}
	for i := range m {
		row := c[i*ldc : i*ldc+n]
		if beta == 0 {
			clear(row)
		} else {
			Scale(row, beta, row)
		}
	}
}
