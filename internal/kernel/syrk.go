package kernel

// Syrk computes C = alpha·A·Aᵀ + beta·C with A n×k, or alpha·Aᵀ·A + beta·C with
// A k×n if trans is set. Only the lower triangle of C is read (not at all if
// beta is 0); both triangles are written and exactly equal.
func Syrk[T Float](trans bool, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int) {
	rows, cols := shape(trans, n, k)
	checkMatrix("Syrk", "A", a, rows, cols, lda)
	checkMatrix("Syrk", "C", c, n, n, ldc)
	syrkLower(trans, n, k, alpha, a, lda, beta, c, ldc)
	mirror(n, c, ldc)
}

// syrkBlock is the height of the row blocks of a symmetric product: high
// enough for Gemm's full speed, low enough to skip most of the upper triangle.
const syrkBlock = 96

// syrkLower is Syrk for the lower triangle. Within the blocks on the diagonal
// it writes above the diagonal, too.
func syrkLower[T Float](trans bool, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int) {
	step, _ := strides(trans, lda)
	for i := 0; i < n; i += syrkBlock {
		h := min(syrkBlock, n-i)
		Gemm(trans, !trans, h, i+h, k, alpha, a[min(i*step, len(a)):], lda, a, lda, beta, c[i*ldc:], ldc)
	}
}

// mirror copies the lower triangle onto the upper one.
func mirror[T Float](n int, c []T, ldc int) {
	for i := range n {
		for j := range i {
			c[j*ldc+i] = c[i*ldc+j]
		}
	}
}
