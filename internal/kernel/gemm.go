package kernel

// Gemm computes C = alpha·op(A)·op(B) + beta·C, where op(A) is m×k, op(B) is
// k×n, C is m×n, and op(X) is Xᵀ where the matching trans flag is set (then A
// is stored k×m, B n×k). C must not overlap A or B. If beta is 0, C is written
// and never read. NaN and Inf propagate as in the naive loop.
func Gemm[T Float](transA, transB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	rows, cols := shape(transA, m, k)
	checkMatrix("Gemm", "A", a, rows, cols, lda)
	rows, cols = shape(transB, k, n)
	checkMatrix("Gemm", "B", b, rows, cols, ldb)
	checkMatrix("Gemm", "C", c, m, n, ldc)
	if m == 0 || n == 0 {
		return
	}
	ai, ap := strides(transA, lda)
	bp, bj := strides(transB, ldb)
	scale(m, n, beta, c, ldc)
	for i := range m {
		row := c[i*ldc : i*ldc+n]
		for j := range row {
			var sum T
			for p := range k {
				sum += a[i*ai+p*ap] * b[p*bp+j*bj]
			}
			row[j] += alpha * sum
		}
	}
}

// strides returns the steps between rows and columns of op(X).
func strides(trans bool, ld int) (row, col int) {
	if trans {
		return 1, ld
	}
	return ld, 1
}

// scale computes C = beta·C for an m×n matrix, without reading C if beta is 0.
func scale[T Float](m, n int, beta T, c []T, ldc int) {
	for i := range m {
		row := c[i*ldc : i*ldc+n]
		switch beta {
		case 1:
		case 0:
			clear(row)
		default:
			Scale(row, beta, row)
		}
	}
}
