package kernel

// Product computes a matrix product outside this package. It adds alpha·op(A)·op(B) to C if add is set.
// Otherwise it writes the product to C and does not read C. The shapes are as in Gemm. They have been
// checked, and no side is 0. A Product works on the calling thread alone, and several goroutines may
// call it at a time. It returns false and leaves C unchanged if it cannot compute a product.
type Product[T Float] func(transA, transB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, add bool, c []T, ldc int) bool

var (
	external32 Product[float32]
	external64 Product[float64]
)

// SetProduct makes Gemm, Syrk, Trsm, Cholesky and BLAS leave matrix products of one element type to f.
// They call f once for each thread's share of a product. A nil f restores the products of this package.
// Call SetProduct before any of these functions run. Products with a vector and convolutions never go
// to f.
func SetProduct[T Float](f Product[T]) { *external[T]() = f }

func external[T Float]() *Product[T] {
	if p, ok := any(&external32).(*Product[T]); ok {
		return p
	}
	return any(&external64).(*Product[T])
}

// delegate calls the external product, if there is one, and reports whether the call has computed
// the product.
func (g *gemm[T]) delegate() bool {
	f := *external[T]()
	if f == nil || g.panels || min(g.m, g.n) == 1 {
		return false
	}
	_, a := shape(g.transA, g.m, g.k)
	_, b := shape(g.transB, g.k, g.n)
	overlap := g.lda < a || g.ldb < b // which external products refuse
	return !overlap && f(g.transA, g.transB, g.m, g.n, g.k, g.alpha, g.a, g.lda, g.b, g.ldb, g.add, g.c, g.ldc)
}
