package kernel

// Syrk computes C = alpha·A·Aᵀ + beta·C with A n×k, or alpha·Aᵀ·A + beta·C with
// A k×n if trans is set. Only the lower triangle of C is read (not at all if
// beta is 0); both triangles are written and exactly equal.
func Syrk[T Float](trans bool, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int) {
	rows, cols := shape(trans, n, k)
	checkMatrix("Syrk", "A", a, rows, cols, lda)
	checkMatrix("Syrk", "C", c, n, n, ldc)
	s := symmetric[T]{trans: trans, k: k, alpha: alpha, beta: beta, lda: lda, ldc: ldc}
	s.triangle(n, a, c)
	if beta == 0 {
		copyBlocks(n, c, ldc) // a product alone is exactly symmetric
	} else {
		copyLower(n, c, ldc)
	}
}

// symmetric is one triangle of alpha·op(A)·op(A)ᵀ + beta·C: the upper one if
// upper is set. In blocks on the diagonal the other triangle is written, too,
// unless exact is set.
type symmetric[T Float] struct {
	upper, exact, trans bool
	k                   int
	alpha, beta         T
	lda, ldc            int
}

// syrkBlock is the size up to which a symmetric product is done as a whole:
// large enough for Gemm's full speed, small enough to skip most of the other
// triangle.
const syrkBlock = 96

// half is about half of n, at least that, and a multiple of unit.
func half(n, unit int) int { return (n/2 + unit - 1) / unit * unit }

// triangle computes n rows and columns of C: two halves and the block beside
// them.
func (s *symmetric[T]) triangle(n int, a, c []T) {
	if n <= syrkBlock {
		s.diagonal(n, a, c)
		return
	}
	h := half(n, syrkBlock/2)
	step, _ := strides(s.trans, s.lda)
	below := from(a, h*step)
	s.triangle(h, a, c)
	s.triangle(n-h, below, c[h*s.ldc+h:])
	if s.upper {
		Gemm(s.trans, !s.trans, h, n-h, s.k, s.alpha, a, s.lda, below, s.lda, s.beta, c[h:], s.ldc)
	} else {
		Gemm(s.trans, !s.trans, n-h, h, s.k, s.alpha, below, s.lda, a, s.lda, s.beta, c[h*s.ldc:], s.ldc)
	}
}

// diagonal computes a block on the diagonal, by way of a copy where the other
// triangle must not be touched.
func (s *symmetric[T]) diagonal(n int, a, c []T) {
	if !s.exact {
		Gemm(s.trans, !s.trans, n, n, s.k, s.alpha, a, s.lda, a, s.lda, s.beta, c, s.ldc)
		return
	}
	w := spaces[T]().get()
	w.x = grow(w.x, n*n)
	Gemm(s.trans, !s.trans, n, n, s.k, s.alpha, a, s.lda, a, s.lda, 0, w.x, n)
	for i := range n {
		lo, hi := 0, i+1
		if s.upper {
			lo, hi = i, n
		}
		dst, src := c[i*s.ldc+lo:i*s.ldc+hi], w.x[i*n+lo:i*n+hi]
		if s.beta == 0 {
			copy(dst, src)
			continue
		}
		Scale(dst, s.beta, dst)
		Add(dst, dst, src)
	}
	spaces[T]().put(w)
}
