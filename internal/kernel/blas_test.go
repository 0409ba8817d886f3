package kernel

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/mat"
)

// Every combination of flags agrees with gonum's own implementation.
func TestBLASAgreesWithGonum(t *testing.T) {
	r := source(8)
	const m, n, k = 133, 101, 140
	a, b, c := newMatrix[float64](r, k, k, 2), newMatrix[float64](r, k, k, 1), newMatrix[float64](r, k, k, 0)
	for i := range k {
		a.set(i, i, 200) // well-conditioned as a triangle
	}
	var ours BLAS
	var theirs gonum.Implementation
	compare := func(what string, f func(impl blas.Float64, c []float64)) {
		t.Helper()
		x, y := c.clone(), c.clone()
		f(ours, x.s())
		f(theirs, y.s())
		for i := range x.all {
			near(t, what, x.all[i], y.all[i], 1e-10) // k·ε·Σ|a||b| is 3e-11
		}
	}
	for _, tA := range []blas.Transpose{blas.NoTrans, blas.Trans} {
		for _, tB := range []blas.Transpose{blas.NoTrans, blas.Trans} {
			compare("Dgemm", func(impl blas.Float64, c []float64) {
				impl.Dgemm(tA, tB, m, n, k, 2, a.s(), a.ld, b.s(), b.ld, 0.5, c, k)
			})
		}
		for _, ul := range []blas.Uplo{blas.Upper, blas.Lower} {
			compare("Dsyrk", func(impl blas.Float64, c []float64) {
				impl.Dsyrk(ul, tA, n, k, 2, a.s(), a.ld, 0.5, c, k)
			})
			for _, side := range []blas.Side{blas.Left, blas.Right} {
				for _, diag := range []blas.Diag{blas.Unit, blas.NonUnit} {
					compare("Dtrsm", func(impl blas.Float64, c []float64) {
						impl.Dtrsm(side, ul, tA, diag, m, n, 0.1, a.s(), a.ld, c, k)
					})
				}
			}
		}
	}
}

// A right-hand side of zeros is solved without a look at the triangle.
func TestTrsmOfZeros(t *testing.T) {
	nan := math.NaN()
	b, b32 := []float64{1, nan}, []float32{1, float32(nan)}
	BLAS{}.Dtrsm(blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, 2, 1, 0, []float64{0, nan, nan, 0}, 2, b, 1)
	BLAS{}.Strsm(blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, 2, 1, 0, make([]float32, 4), 2, b32, 1)
	if b[0] != 0 || b[1] != 0 || b32[0] != 0 || b32[1] != 0 {
		t.Errorf("the solutions are %v and %v, want zeros", b, b32)
	}
}

func TestUse(t *testing.T) {
	before := blas64.Implementation()
	defer blas64.Use(before)
	Use()
	if _, ok := blas64.Implementation().(BLAS); !ok {
		t.Fatalf("blas64 runs on %T", blas64.Implementation())
	}
	a := mat.NewDense(2, 2, []float64{1, 2, 3, 4})
	var c mat.Dense
	c.Mul(a, a)
	if want := mat.NewDense(2, 2, []float64{7, 10, 15, 22}); !mat.Equal(&c, want) {
		t.Errorf("got %v, want %v", mat.Formatted(&c), mat.Formatted(want))
	}
}
