package kernel

// Product is a matrix product that is done elsewhere: C = alpha·op(A)·op(B), added to
// C if add is set, else written without reading C. The shapes are those of Gemm and
// were checked and no side is 0. It works on the calling
// thread only, for several goroutines at a time. It reports false, with C untouched,
// for what it cannot do.
type Product[T Float] func(transA, transB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, add bool, c []T, ldc int) bool

var (
	external32 Product[float32]
	external64 Product[float64]
)

// SetProduct makes Gemm and all that stands on it (Syrk, Trsm, Cholesky, BLAS) leave
// matrix products of one element type to f, once for each thread's share of a
// product; nil brings back those of this package. Call it before any of them run.
// Products of vectors, and convolutions, stay here.
func SetProduct[T Float](f Product[T]) { *external[T]() = f }

func external[T Float]() *Product[T] {
	if p, ok := any(&external32).(*Product[T]); ok {
		return p
	}
	return any(&external64).(*Product[T])
}

// delegate leaves the product to the external one, if there is one, and tells
// whether it was done.
func (g *gemm[T]) delegate() bool {
	f := *external[T]()
	return f != nil && f(g.transA, g.transB, g.m, g.n, g.k, g.alpha, g.a, g.lda, g.b, g.ldb, g.add, g.c, g.ldc)
}
