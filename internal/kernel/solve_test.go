package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestSyrk(t *testing.T) { bothTypes(t, testSyrk[float32], testSyrk[float64]) }

func testSyrk[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.OneOf(rapid.IntRange(0, 2), rapid.IntRange(3, 60), rapid.IntRange(95, 230))
		n, k := dim.Draw(t, "n"), rapid.IntRange(0, 40).Draw(t, "k")
		checkSyrk[T](t, source(rapid.Uint64().Draw(t, "seed")), rapid.Bool().Draw(t, "trans"), n, k,
			rapid.SampledFrom([]T{0, 1, -2}).Draw(t, "beta"), rapid.IntRange(0, 3).Draw(t, "pad"))
	})
}

// Small matrices are computed by inner products, four at a time or, of long rows, five by five.
func TestSyrkSmall(t *testing.T) { bothTypes(t, testSyrkSmall[float32], testSyrkSmall[float64]) }

func testSyrkSmall[T Float](t *testing.T) {
	for n := 1; n <= smallSyrk; n++ {
		for k := 1; k < 20; k++ {
			checkSyrk[T](t, source(1), false, n, k, T(k%2), 1)
		}
		for _, k := range []int{gramLeast, gramLeast + 7, gramBytes/sizeOf[T]() + 1, 2500} {
			checkSyrk[T](t, source(1), false, n, k, T(k%2), 1)
			checkSyrk[T](t, source(1), false, n, k, 0, 1)
		}
	}
}

func checkSyrk[T Float](t tester, r *rand.Rand, trans bool, n, k int, beta T, pad int) {
	rows, cols := shape(trans, n, k)
	a := newMatrix[T](r, rows, cols, pad)
	c := newMatrix[T](r, n, n, pad)
	got := c.clone()
	Syrk(trans, n, k, 1.5, a.s(), a.ld, beta, got.s(), got.ld)
	got.checkGuard(t)
	for i := range n {
		for j := range i + 1 {
			var product, want exact
			abs := 0.0
			for p := range k {
				x, y := float64(a.op(trans, i, p)), float64(a.op(trans, j, p))
				product.add(x, y)
				abs += 1.5 * math.Abs(x*y)
			}
			want.add(1.5, product.sum)
			want.add(1.5, product.rest)
			if beta != 0 {
				want.add(float64(beta), float64(c.at(i, j)))
				abs += math.Abs(float64(beta) * float64(c.at(i, j)))
			}
			if tol := float64(k+3) * abs * epsilon[T](); !within(float64(got.at(i, j)), want.value(), tol) {
				near(t, name("C[", i, ",", j, "] n=", n, " k=", k), float64(got.at(i, j)), want.value(), tol)
			}
			if got.at(i, j) != got.at(j, i) {
				t.Fatalf("C[%d,%d] is not exactly symmetric", i, j)
			}
		}
	}
}

// lowerFactor is a well-conditioned lower triangle with NaN above the diagonal.
func lowerFactor[T Float](r *rand.Rand, n, pad int) matrix[T] {
	l := newMatrix[T](r, n, n, pad)
	for i := range n {
		for j := range n {
			switch {
			case j < i:
				l.set(i, j, l.at(i, j)/T(n))
			case j == i:
				l.set(i, i, 1+T(r.Float64()))
			default:
				l.set(i, j, T(math.NaN()))
			}
		}
	}
	return l
}

func TestTrsm(t *testing.T) { bothTypes(t, testTrsm[float32], testTrsm[float64]) }

func testTrsm[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.OneOf(rapid.IntRange(0, 2), rapid.IntRange(3, 60), rapid.IntRange(100, 150))
		checkTrsm[T](t, source(rapid.Uint64().Draw(t, "seed")), rapid.Bool().Draw(t, "right"), rapid.Bool().Draw(t, "trans"),
			dim.Draw(t, "m"), dim.Draw(t, "n"), rapid.IntRange(0, 3).Draw(t, "pad"))
	})
}

// checkTrsm multiplies the solution by op(L) and compares with B. L is close
// to a multiple of the identity, so the residual is a few rounding errors.
func checkTrsm[T Float](t tester, r *rand.Rand, right, trans bool, m, n, pad int) {
	size := m
	if right {
		size = n
	}
	l, b := lowerFactor[T](r, size, pad), newMatrix[T](r, m, n, pad)
	x := b.clone()
	Trsm(right, trans, m, n, l.s(), l.ld, x.s(), x.ld)
	x.checkGuard(t)
	lower := func(i, j int) float64 {
		if trans {
			i, j = j, i
		}
		if j > i {
			return 0
		}
		return float64(l.at(i, j))
	}
	for i := range m {
		for j := range n {
			var sum exact
			abs := 0.0
			for p := range size {
				u, v := 0.0, 0.0
				if right {
					u, v = float64(x.at(i, p)), lower(p, j)
				} else {
					u, v = lower(i, p), float64(x.at(p, j))
				}
				sum.add(u, v)
				abs += math.Abs(u * v)
			}
			if tol := float64(size+3) * abs * epsilon[T](); !within(sum.value(), float64(b.at(i, j)), tol) {
				near(t, name("B[", i, ",", j, "] ", m, "×", n, right, trans), sum.value(), float64(b.at(i, j)), tol)
			}
		}
	}
}

func TestCholesky(t *testing.T) { bothTypes(t, testCholesky[float32], testCholesky[float64]) }

func testCholesky[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(41, 150)).Draw(t, "n")
		checkCholesky[T](t, source(rapid.Uint64().Draw(t, "seed")), n, rapid.IntRange(0, 3).Draw(t, "pad"))
	})
}

// checkCholesky multiplies a known factor out and compares L·Lᵀ with it.
func checkCholesky[T Float](t tester, r *rand.Rand, n, pad int) {
	l := lowerFactor[T](r, n, pad)
	a := newMatrix[T](r, n, n, pad)
	multiply := func(l matrix[T], i, j int) float64 {
		var sum exact
		for p := range min(i, j) + 1 {
			sum.add(float64(l.at(i, p)), float64(l.at(j, p)))
		}
		return sum.value()
	}
	for i := range n {
		for j := range n {
			a.set(i, j, T(math.NaN())) // above the diagonal: not to be read
			if j <= i {
				a.set(i, j, T(multiply(l, i, j)))
			}
		}
	}
	got := a.clone()
	if p := Cholesky(n, got.s(), got.ld); p != -1 {
		t.Fatalf("pivot %d of %d", p, n)
	}
	got.checkGuard(t)
	for i := range n {
		for j := range n {
			if j > i && got.at(i, j) != 0 {
				t.Fatalf("L[%d,%d] = %v, want 0", i, j, got.at(i, j))
			}
			if j <= i {
				tol := float64(n+3) * math.Sqrt(multiply(got, i, i)*multiply(got, j, j)) * epsilon[T]()
				if product := multiply(got, i, j); !within(product, float64(a.at(i, j)), tol) {
					near(t, name("A[", i, ",", j, "]"), product, float64(a.at(i, j)), tol)
				}
			}
		}
	}
}

func TestCholeskyPivot(t *testing.T) {
	const n = 70
	for _, bad := range []int{0, 1, 15, 16, 33, n - 1} {
		for _, v := range []float64{0, -1, math.NaN()} {
			a := make([]float64, n*n)
			for i := range n {
				a[i*n+i] = 4
			}
			a[bad*n+bad] = v
			if p := Cholesky(n, a, n); p != bad {
				t.Errorf("pivot %v at %d: got %d", v, bad, p)
			}
		}
	}
}

func FuzzSolve(f *testing.F) {
	f.Add(uint64(1), uint8(30), uint8(20), uint8(1))
	f.Add(uint64(2), uint8(1), uint8(100), uint8(6))
	f.Fuzz(func(t *testing.T, seed uint64, m, n, flags uint8) {
		r, right, trans := source(seed), flags&1 != 0, flags&2 != 0
		checkTrsm[float64](t, r, right, trans, int(m), int(n), int(flags>>4))
		checkTrsm[float32](t, r, right, trans, int(m), int(n), int(flags>>4))
		checkSyrk(t, r, trans, int(m), int(n), float64(flags>>2&1), int(flags>>4))
		checkCholesky[float32](t, r, int(n), int(flags>>4))
	})
}
