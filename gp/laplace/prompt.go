package laplace

import (
	"context"

	"github.com/go-valla/valla/internal/kernel"
)

// atOnce bounds the multiplications that are made between two looks at the context: a second or
// less of work.
var atOnce = 1 << 34

// addSquare adds the lower triangle of AᵀA, for A [k,n] if trans is set, or of AAᵀ, for A [n,k], to
// the lower triangle of c [n,n]. What c holds above the diagonal does not count. addSquare returns
// ctx's error if ctx ends first.
func addSquare(ctx context.Context, trans bool, n, k int, a, c []float64) error {
	lda, next := k, k // from one row of A to the next, and from one column of the product
	if trans {
		lda, next = n, 1
	}
	if n*n*k <= atOnce {
		kernel.Syrk(trans, n, k, 1, a, lda, 1, c, n)
		return nil
	}
	cols := max(64, atOnce/(n*k))
	for lo := 0; lo < n; lo += cols {
		if err := ctx.Err(); err != nil {
			return err
		}
		hi := min(lo+cols, n)
		kernel.Syrk(trans, hi-lo, k, 1, a[lo*next:], lda, 1, c[lo*n+lo:], n)
		if hi < n {
			kernel.Gemm(trans, !trans, n-hi, hi-lo, k, 1, a[hi*next:], lda, a[lo*next:], lda, 1, c[hi*n+lo:], n)
		}
	}
	return nil
}

// factorise is kernel.Cholesky for a [n,n]. It returns ctx's error if ctx ends first.
func factorise(ctx context.Context, n int, a []float64) (pivot int, err error) {
	if n*n*n <= atOnce {
		return kernel.Cholesky(n, a, n), ctx.Err()
	}
	cols := max(64, 4*atOnce/(n*n)) // a quarter of n² rows and columns is the most below and before
	for lo := 0; lo < n; lo += cols {
		if err := ctx.Err(); err != nil {
			return -1, err
		}
		hi := min(lo+cols, n)
		block := a[lo*n+lo:]
		if lo > 0 {
			kernel.Gemm(false, true, n-lo, hi-lo, lo, -1, a[lo*n:], n, a[lo*n:], n, 1, block, n)
		}
		if p := kernel.Cholesky(hi-lo, block, n); p >= 0 {
			return lo + p, nil
		}
		if hi < n {
			kernel.Trsm(true, true, n-hi, hi-lo, block, n, a[hi*n+lo:], n)
		}
		for i := lo; i < hi; i++ {
			clear(a[i*n+hi : (i+1)*n])
		}
	}
	return -1, nil
}
