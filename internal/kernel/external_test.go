package kernel

import (
	"sync/atomic"
	"testing"
)

// An external product gets every product except those with a vector, and this package
// computes the ones that it refuses.
func TestExternalProduct(t *testing.T) {
	t.Run("float32", testExternal[float32])
	t.Run("float64", testExternal[float64])
}

func testExternal[T Float](t *testing.T) {
	defer SetProduct[T](nil)
	var calls atomic.Int64
	for _, accept := range []bool{true, false} {
		for _, n := range [][3]int{{5, 7, 3}, {300, 200, 100}, {1, 5, 5}, {5, 1, 5}} {
			p := newProduct[T](source(1), false, true, n[0], n[1], n[2], -0.5, 2, 3)
			calls.Store(0)
			SetProduct(func(transA, transB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, add bool, c []T, ldc int) bool {
				calls.Add(1)
				if !accept {
					return false
				}
				naiveProduct(transA, transB, m, n, k, alpha, a, lda, b, ldb, add, c, ldc)
				return true
			})
			p.check(t)
			if vector := n[0] == 1 || n[1] == 1; (calls.Load() == 0) != vector {
				t.Errorf("%v: %d calls of the external product", n, calls.Load())
			}
		}
	}
}

// naiveProduct is a Product in three loops.
func naiveProduct[T Float](transA, transB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, add bool, c []T, ldc int) {
	arow, acol := strides(transA, lda)
	brow, bcol := strides(transB, ldb)
	for i := range m {
		for j := range n {
			var sum float64
			for p := range k {
				sum += float64(a[i*arow+p*acol]) * float64(b[p*brow+j*bcol])
			}
			v := alpha * T(sum)
			if add {
				v += c[i*ldc+j]
			}
			c[i*ldc+j] = v
		}
	}
}

// The loops behind Trsm, Syrk and Cholesky must agree with an external product, too.
func TestExternalInside(t *testing.T) {
	const n = 150
	a := newMatrix[float64](source(3), n, n, 0)
	gram, want := make([]float64, n*n), make([]float64, n*n)
	factor := func(out []float64) {
		Syrk(false, n, n, 1, a.s(), n, 0, out, n)
		for i := range n {
			out[i*n+i] += n
		}
		if pivot := Cholesky(n, out, n); pivot >= 0 {
			t.Fatalf("pivot %d", pivot)
		}
	}
	factor(want)
	defer SetProduct[float64](nil)
	calls := 0
	SetProduct(func(transA, transB bool, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, add bool, c []float64, ldc int) bool {
		calls++
		if min(m, n) == 1 {
			t.Errorf("the external product gets a product with a vector: %d×%d×%d", m, n, k)
		}
		naiveProduct(transA, transB, m, n, k, alpha, a, lda, b, ldb, add, c, ldc)
		return true
	})
	defer SetThreads(0)
	SetThreads(1)
	factor(gram)
	Trsm(false, false, n, 1, want, n, make([]float64, n), 1)
	if calls < 10 {
		t.Errorf("%d calls of the external product", calls)
	}
	for i, v := range gram {
		near(t, "factor", v, want[i], 1e-10) // elements up to 17, condition about 5
	}
}
