package kernel

// Syrk computes C = alpha·A·Aᵀ + beta·C with A n×k, or alpha·Aᵀ·A + beta·C with
// A k×n if trans is set. Only the lower triangle of C is read (not at all if
// beta is 0); both triangles are written and exactly equal.
func Syrk[T Float](trans bool, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int) {
	rows, cols := shape(trans, n, k)
	checkMatrix("Syrk", "A", a, rows, cols, lda)
	checkMatrix("Syrk", "C", c, n, n, ldc)
	syrkLower(trans, n, k, alpha, a, lda, beta, c, ldc)
	mirror(n, c, ldc, beta != 0)
}

// syrkBlock is the size up to which a symmetric product is done as a whole:
// large enough for Gemm's full speed, small enough to skip most of the upper
// triangle.
const syrkBlock = 96

// syrkLower is Syrk for the lower triangle. Within blocks on the diagonal it
// writes above the diagonal, too.
func syrkLower[T Float](trans bool, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int) {
	if n <= syrkBlock {
		Gemm(trans, !trans, n, n, k, alpha, a, lda, a, lda, beta, c, ldc)
		return
	}
	h := half(n, syrkBlock/2)
	step, _ := strides(trans, lda)
	below := from(a, h*step)
	syrkLower(trans, h, k, alpha, a, lda, beta, c, ldc)
	Gemm(trans, !trans, n-h, h, k, alpha, below, lda, a, lda, beta, c[h*ldc:], ldc)
	syrkLower(trans, n-h, k, alpha, below, lda, beta, c[h*ldc+h:], ldc)
}

// half is about half of n, at least that, and a multiple of unit.
func half(n, unit int) int { return (n/2 + unit - 1) / unit * unit }

// mirror copies the lower triangle of blocks on the upper one, the blocks of
// syrkLower on the diagonal only if asked: a product alone is exactly symmetric.
func mirror[T Float](n int, c []T, ldc int, diagonal bool) {
	if n > syrkBlock {
		h := half(n, syrkBlock/2)
		mirror(h, c, ldc, diagonal)
		transpose(c[h:], ldc, c[h*ldc:], ldc, n-h, h)
		mirror(n-h, c[h*ldc+h:], ldc, diagonal)
		return
	}
	for i := 0; diagonal && i < n; i++ {
		for j := range i {
			c[j*ldc+i] = c[i*ldc+j]
		}
	}
}

// syrkTriangle is Syrk for one triangle of C; the other is not touched.
func syrkTriangle[T Float](upper, trans bool, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int) {
	if n <= syrkBlock {
		syrkDiagonal(upper, trans, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	h := half(n, syrkBlock/2)
	step, _ := strides(trans, lda)
	below := from(a, h*step)
	syrkTriangle(upper, trans, h, k, alpha, a, lda, beta, c, ldc)
	syrkTriangle(upper, trans, n-h, k, alpha, below, lda, beta, c[h*ldc+h:], ldc)
	if upper {
		Gemm(trans, !trans, h, n-h, k, alpha, a, lda, below, lda, beta, c[h:], ldc)
	} else {
		Gemm(trans, !trans, n-h, h, k, alpha, below, lda, a, lda, beta, c[h*ldc:], ldc)
	}
}

// syrkDiagonal computes a small product as a whole and uses one triangle of it.
func syrkDiagonal[T Float](upper, trans bool, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int) {
	w := spaces[T]().get()
	w.x = grow(w.x, n*n)
	Gemm(trans, !trans, n, n, k, alpha, a, lda, a, lda, 0, w.x, n)
	for i := range n {
		lo, hi := 0, i+1
		if upper {
			lo, hi = i, n
		}
		dst, src := c[i*ldc+lo:i*ldc+hi], w.x[i*n+lo:i*n+hi]
		if beta == 0 {
			copy(dst, src)
			continue
		}
		Scale(dst, beta, dst)
		Add(dst, dst, src)
	}
	spaces[T]().put(w)
}
