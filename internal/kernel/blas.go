package kernel

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
)

// BLAS is gonum's implementation with the matrix products and triangular solves of
// this package. Unlike gonum's products, these do not skip zeros, so that 0·NaN is NaN.
type BLAS struct{ gonum.Implementation }

// Use makes gonum's blas32 and blas64, and so gonum's matrices, call this package.
func Use() {
	blas32.Use(BLAS{})
	blas64.Use(BLAS{})
}

// Sgemm computes C = alpha·op(A)·op(B) + beta·C.
func (BLAS) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	Gemm(transposed(tA), transposed(tB), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// Dgemm computes C = alpha·op(A)·op(B) + beta·C.
func (BLAS) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	Gemm(transposed(tA), transposed(tB), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// Ssyrk computes one triangle of C = alpha·A·Aᵀ + beta·C or alpha·Aᵀ·A + beta·C.
func (BLAS) Ssyrk(ul blas.Uplo, t blas.Transpose, n, k int, alpha float32, a []float32, lda int, beta float32, c []float32, ldc int) {
	syrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
}

// Dsyrk computes one triangle of C = alpha·A·Aᵀ + beta·C or alpha·Aᵀ·A + beta·C.
func (BLAS) Dsyrk(ul blas.Uplo, t blas.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, c []float64, ldc int) {
	syrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
}

// syrk computes one triangle for Ssyrk and Dsyrk.
func syrk[T Float](ul blas.Uplo, t blas.Transpose, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int) {
	rows, cols := shape(transposed(t), n, k)
	checkMatrix("Syrk", "A", a, rows, cols, lda)
	checkMatrix("Syrk", "C", c, n, n, ldc)
	s := symmetric[T]{ul == blas.Upper, true, false, transposed(t), n, k, alpha, beta, a, lda, c, ldc}
	s.share()
}

// Strsm solves op(A)·X = alpha·B or X·op(A) = alpha·B. It leaves triangles with a unit
// diagonal to gonum.
func (impl BLAS) Strsm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float32, a []float32, lda int, b []float32, ldb int) {
	if d != blas.NonUnit {
		impl.Implementation.Strsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	solve(s, ul, tA, m, n, alpha, a, lda, b, ldb)
}

// Dtrsm solves op(A)·X = alpha·B or X·op(A) = alpha·B. It leaves triangles with a unit
// diagonal to gonum.
func (impl BLAS) Dtrsm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	if d != blas.NonUnit {
		impl.Implementation.Dtrsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	solve(s, ul, tA, m, n, alpha, a, lda, b, ldb)
}

// solve solves the system of Strsm and Dtrsm. It does not read A if alpha is 0.
func solve[T Float](s blas.Side, ul blas.Uplo, tA blas.Transpose, m, n int, alpha T, a []T, lda int, b []T, ldb int) {
	checkMatrix("Trsm", "B", b, m, n, ldb)
	scale(m, n, alpha, b, ldb)
	if alpha != 0 {
		trsm(s == blas.Right, ul == blas.Upper, transposed(tA), m, n, a, lda, b, ldb)
	}
}

func transposed(t blas.Transpose) bool { return t != blas.NoTrans }
