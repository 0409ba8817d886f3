package kernel

import "math"

// Cholesky overwrites the n×n symmetric positive definite A by its lower triangular factor
// L with A = L·Lᵀ and writes zeros above the diagonal. It reads only the lower triangle of
// A. It returns -1. If A has no factor, it returns the index of the first pivot that is not
// positive or is NaN, and A holds an unfinished factor.
func Cholesky[T Float](n int, a []T, lda int) (pivot int) {
	checkMatrix("Cholesky", "A", a, n, n, lda)
	if p := cholesky(0, n, a, lda); p >= 0 {
		return p
	}
	for i := range n {
		clear(a[i*lda+i+1 : i*lda+n])
	}
	return -1
}

// choleskyBlock is the size below which the factor is computed directly.
const choleskyBlock = 8

// cholesky factors the diagonal block lo..hi. It factors the first half, solves for the panel below
// this half, subtracts the panel's product with itself from the second half, and factors the second half.
func cholesky[T Float](lo, hi int, a []T, lda int) int {
	n := hi - lo
	if n <= choleskyBlock {
		return choleskyDirect(lo, hi, a, lda)
	}
	h := half(n, choleskyBlock)
	mid := lo + h
	if p := cholesky(lo, mid, a, lda); p >= 0 {
		return p
	}
	panel := a[mid*lda+lo:]
	Trsm(true, true, n-h, h, a[lo*lda+lo:], lda, panel, lda)
	s := symmetric[T]{n: n - h, k: h, alpha: -1, beta: 1, a: panel, lda: lda, c: a[mid*lda+mid:], ldc: lda}
	s.share()
	return cholesky(mid, hi, a, lda)
}

// choleskyDirect factors the diagonal block lo..hi row by row.
func choleskyDirect[T Float](lo, hi int, a []T, lda int) int {
	for i := lo; i < hi; i++ {
		row := a[i*lda+lo : i*lda+i+1]
		for j := lo; j <= i; j++ {
			other := a[j*lda+lo : j*lda+j+1]
			k := j - lo
			v := row[k]
			for p := range k {
				v -= row[p] * other[p]
			}
			switch {
			case j < i:
				row[k] = v / other[k]
			case v > 0:
				row[k] = T(math.Sqrt(float64(v)))
			default:
				return i
			}
		}
	}
	return -1
}
