package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// gemmCall is one call of Gemm.
type gemmCall[T Float] struct {
	transA, transB bool
	m, n, k        int
	alpha, beta    T
	a, b, c        matrix[T]
}

func newProduct[T Float](r *rand.Rand, transA, transB bool, m, n, k int, alpha, beta T, pad int) gemmCall[T] {
	p := gemmCall[T]{transA, transB, m, n, k, alpha, beta, matrix[T]{}, matrix[T]{}, matrix[T]{}}
	rows, cols := shape(transA, m, k)
	p.a = newMatrix[T](r, rows, cols, pad)
	rows, cols = shape(transB, k, n)
	p.b = newMatrix[T](r, rows, cols, 2*pad)
	p.c = newMatrix[T](r, m, n, 3*pad)
	return p
}

func (p gemmCall[T]) run(c matrix[T]) {
	Gemm(p.transA, p.transB, p.m, p.n, p.k, p.alpha, p.a.s(), p.a.ld, p.b.s(), p.b.ld, p.beta, c.s(), c.ld)
}

// check compares Gemm with the naive loop in float64. The bound is the usual
// one, k·ε·Σ|a||b|, plus the roundings of the update.
func (p gemmCall[T]) check(t tester) {
	t.Helper()
	p.checkCall(t, p.run)
}

// checkCall is check for a function that does the same as Gemm.
func (p gemmCall[T]) checkCall(t tester, run func(c matrix[T])) {
	t.Helper()
	got := p.c.clone()
	if p.beta == 0 {
		for i := range p.m {
			for j := range p.n {
				got.set(i, j, T(math.NaN()))
			}
		}
	}
	run(got)
	got.checkGuard(t)
	a, b := p.a.s(), p.b.s()
	arow, acol := strides(p.transA, p.a.ld)
	brow, bcol := strides(p.transB, p.b.ld)
	for i := range p.m {
		for j := range p.n {
			var sum, want exact
			abs, x, y := 0.0, i*arow, j*bcol
			for range p.k {
				sum.add(float64(a[x]), float64(b[y]))
				abs += math.Abs(float64(a[x]) * float64(b[y]))
				x, y = x+acol, y+brow
			}
			want.add(float64(p.alpha), sum.value())
			tol := float64(p.k+3) * math.Abs(float64(p.alpha)) * abs
			if p.beta != 0 {
				want.add(float64(p.beta), float64(p.c.at(i, j)))
				tol += 3 * math.Abs(float64(p.beta)*float64(p.c.at(i, j)))
			}
			if tol *= epsilon[T](); !within(float64(got.at(i, j)), want.value(), tol) {
				near(t, name("C[", i, ",", j, "] of ", p.m, "×", p.n, "×", p.k, p.transA, p.transB), float64(got.at(i, j)), want.value(), tol)
			}
		}
	}
}

func TestGemm(t *testing.T) { bothTypes(t, testGemm[float32], testGemm[float64]) }

func testGemm[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(4, 70))
		p := newProduct(source(rapid.Uint64().Draw(t, "seed")),
			rapid.Bool().Draw(t, "transA"), rapid.Bool().Draw(t, "transB"),
			dim.Draw(t, "m"), dim.Draw(t, "n"), dim.Draw(t, "k"),
			rapid.SampledFrom([]T{1, -1, 0, 2.5}).Draw(t, "alpha"),
			rapid.SampledFrom([]T{0, 1, -0.5}).Draw(t, "beta"),
			rapid.IntRange(0, 5).Draw(t, "pad"))
		p.check(t)
	})
}

// Sizes beyond the cache blocks, and those for which A is packed, in every combination of transposes.
func TestGemmLarge(t *testing.T) { bothTypes(t, testGemmLarge[float32], testGemmLarge[float64]) }

func testGemmLarge[T Float](t *testing.T) {
	for _, s := range [][3]int{{131, 67, 2*blockSteps + 61}, {300, 33, 17}, {1, 150, 700}, {150, 1, 700}, {7, 515, 70},
		{blockBytes/(4*blockSteps) + 7, 9, 30}, {9, blockCols + 50, 20},
		{25, stridedCols + 3, 40}, {25, 20, setBytes/4 - 3}, {25, 500, setBytes/4 - 3}} {
		for combo := range 4 {
			newProduct[T](source(1), combo&1 != 0, combo&2 != 0, s[0], s[1], s[2], 1.5, -1, 3).check(t)
		}
	}
}

// Rows of A and of B may overlap.
func TestGemmOverlap(t *testing.T) { bothTypes(t, testGemmOverlap[float32], testGemmOverlap[float64]) }

func testGemmOverlap[T Float](t *testing.T) {
	for _, s := range [][3]int{{3, 15, 50}, {64, 320, 90}, {1, 9, 20}, {9, 1, 20}, {1, 1, 5}, {30, 600, 700}} {
		for combo := range 4 {
			p := newProduct[T](source(4), combo&1 != 0, combo&2 != 0, s[0], s[1], s[2], 1.5, -1, 0)
			p.a.ld, p.b.ld = (p.a.ld+1)/2, (p.b.ld+4)/5
			p.check(t)
		}
	}
}

func TestGemmNaNAndInf(t *testing.T) { bothTypes(t, testGemmNaN[float32], testGemmNaN[float64]) }

// testGemmNaN puts NaN and Inf beside zeros, where skipping would hide them.
func testGemmNaN[T Float](t *testing.T) {
	for _, s := range [][3]int{{5, 9, 4}, {40, 50, 60}, {1, 40, 20}, {40, 1, 20}} {
		for combo := range 4 {
			p := newProduct[T](source(2), combo&1 != 0, combo&2 != 0, s[0], s[1], s[2], 1, 0, 1)
			clear(p.a.s())
			p.b.s()[0] = T(math.NaN())
			p.b.s()[len(p.b.s())-1] = T(math.Inf(1))
			p.check(t)
		}
	}
}

func FuzzGemm(f *testing.F) {
	f.Add(uint64(1), uint8(3), uint8(20), uint8(40), uint8(7))
	f.Add(uint64(2), uint8(65), uint8(1), uint8(9), uint8(0))
	f.Fuzz(func(t *testing.T, seed uint64, m, n, k, flags uint8) {
		r := source(seed)
		beta := float64(flags >> 2 & 1)
		newProduct(r, flags&1 != 0, flags&2 != 0, int(m), int(n), int(k), 1, beta, int(flags>>4)).check(t)
		newProduct(r, flags&1 != 0, flags&2 != 0, int(m), int(n), int(k), 1, float32(beta), int(flags>>4)).check(t)
	})
}

// Products may take subnormal numbers for zero, but all other numbers count, and Go's own
// arithmetic still handles subnormal numbers afterwards.
func testGemmSubnormal[T Float](t *testing.T) {
	tiny := T(math.SmallestNonzeroFloat32)
	if sizeOf[T]() == 8 {
		tiny = T(math.SmallestNonzeroFloat64)
	}
	for _, n := range []int{1, 2, 13, 40} {
		a, b, c := make([]T, n*n), make([]T, n*n), make([]T, n*n)
		for i := range a {
			a[i], b[i] = 1000*tiny, 3
		}
		for i := range n {
			a[i*n] = 2
		}
		Gemm(false, false, n, n, n, 1, a, n, b, n, 0, c, n)
		for i, v := range c {
			if v != 6 {
				t.Fatalf("%T, order %d: element %d is %g, want 6", v, n, i, v)
			}
		}
		if v := a[n*n-1]; n > 1 && (v/1000 != tiny || v == 0) {
			t.Fatalf("%T: after a product %g/1000 is %g, want %g", v, v, v/1000, tiny)
		}
	}
}

func TestGemmSubnormal(t *testing.T) {
	bothTypes(t, testGemmSubnormal[float32], testGemmSubnormal[float64])
}

func TestGemmRejectsShortSlices(t *testing.T) {
	x := make([]float64, 12)
	call := func(la, lda, lb, ldb, lc, ldc int) func() {
		return func() { Gemm(false, false, 3, 4, 2, 1, x[:la], lda, x[:lb], ldb, 0, x[:lc], ldc) }
	}
	call(6, 2, 8, 4, 12, 4)()
	panics(t, "short A", call(5, 2, 8, 4, 12, 4))
	panics(t, "short B", call(6, 2, 7, 4, 12, 4))
	panics(t, "short C", call(6, 2, 8, 4, 11, 4))
	panics(t, "small ldc", call(6, 2, 8, 4, 12, 3))
}
