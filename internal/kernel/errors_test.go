package kernel

import (
	"math"
	"testing"
)

// TestMatricesTooShort: every function of matrices panics where a slice is too short by one element or a
// leading dimension is less than the number of columns, and works where they fit exactly.
func TestMatricesTooShort(t *testing.T) {
	bothTypes(t, testMatricesTooShort[float32], testMatricesTooShort[float64])
}

func testMatricesTooShort[T Float](t *testing.T) {
	const m, n, k = 3, 4, 2
	v := func(size int) []T { return make([]T, size) }
	double := func(size int) []float64 { return make([]float64, size) }
	square := func(size, ld int) []T { // the identity, in a slice of a size
		a := v(size)
		for i := 0; i*(ld+1) < size; i++ {
			a[i*(ld+1)] = 1
		}
		return a
	}
	panelled := PanelsLen(k, n)
	for what, f := range map[string]func(short, ld int){
		"Syrk A":       func(s, ld int) { Syrk(false, m, k, 1, v(m*k-s), k-ld, 0, v(m*m), m) },
		"Syrk C":       func(s, ld int) { Syrk(true, m, k, 1, v(m*k), m, 0, v(m*m-s), m-ld) },
		"Trsm L":       func(s, ld int) { Trsm(false, false, m, n, square(m*m-s, m), m-ld, v(m*n), n) },
		"Trsm B":       func(s, ld int) { Trsm(true, true, m, n, square(n*n, n), n, v(m*n-s), n-ld) },
		"Cholesky":     func(s, ld int) { Cholesky(m, square(m*m-s, m), m-ld) },
		"Transpose":    func(s, ld int) { Transpose(v(m*n), m, v(m*n-s), n-ld, m, n) },
		"Transpose to": func(s, ld int) { Transpose(v(m*n-s), m-ld, v(m*n), n, m, n) },
		"CopyLower":    func(s, ld int) { CopyLower(m, v(m*m-s), m-ld) },
		"RowDots":      func(s, ld int) { RowDots(v(m), v(m*n-s), n-ld, v(n)) },
		"AddRows":      func(s, ld int) { AddRows(v(n), v(m*n-s), n-ld, v(m)) },
		"AddSymmetric": func(s, ld int) { AddSymmetric(0, m, m, double(m*m-s), m-ld, double(m), double(m)) },
		"Panels":       func(s, ld int) { Panels(true, k, n, v(k*n-s), k-ld, v(panelled)) },
		"Panels to":    func(s, ld int) { Panels(false, k, n, v(k*n), n-ld, v(panelled-s)) },
		"GemmPanels":   func(s, ld int) { GemmPanels(false, m, n, k, v(m*k-s), k-ld, v(panelled), v(m*n), n) },
		"GemmPanels B": func(s, ld int) { GemmPanels(false, m, n, k, v(m*k), k, v(panelled-s), v(m*n), n-ld) },
		"GemmPanels C": func(s, ld int) { GemmPanels(true, m, n, k, v(m*k), m, v(panelled), v(m*n-s), n-ld) },
	} {
		f(0, 0)
		panics(t, what+": a slice that is too short", func() { f(1, 0) })
		panics(t, what+": a leading dimension that is too small", func() { f(0, 1) })
	}
	panics(t, "x of another length", func() { AddSymmetric(0, m, m, double(m*m), m, double(m-1), double(m)) })
	panics(t, "y of another length", func() { AddSymmetric(0, m, m, double(m*m), m, double(m), double(m+1)) })
	panics(t, "a negative size", func() { Gemm(false, false, -1, n, k, 1, v(8), k, v(8), n, 0, v(8), n) })
	panics(t, "poles of another number", func() { Poles(make([]float64, 2), make([]float64, 3), 1) })
}

// TestEmpty: nothing is read or written where a side is 0, except that a sum of no products is 0.
func TestEmpty(t *testing.T) { bothTypes(t, testEmpty[float32], testEmpty[float64]) }

func testEmpty[T Float](t *testing.T) {
	c := []T{guard, guard, guard, guard}
	for _, s := range [][3]int{{0, 2, 2}, {2, 0, 2}, {0, 0, 0}} {
		Gemm(false, true, s[0], s[1], s[2], 1, c, 2, c, 2, 0, c, 2)
		GemmPanels(false, s[0], s[1], s[2], c, 2, make([]T, PanelsLen(s[2], s[1])), c, 2)
		Trsm(false, false, s[0], s[1], []T{1, 0, 0, 1}, 2, nil, 2)
		Transpose[T](nil, 2, nil, 2, s[0], s[1])
	}
	Syrk[T](false, 0, 2, 1, nil, 2, 0, nil, 0)
	CopyLower[T](0, nil, 0)
	RowDots(nil, nil, 0, c)
	AddRows(nil, nil, 0, c)
	if p := Cholesky[T](0, nil, 0); p != -1 {
		t.Errorf("pivot %d of a matrix of order 0", p)
	}
	for _, v := range c {
		if v != guard {
			t.Fatalf("a product without elements wrote %v", c)
		}
	}
	for _, beta := range []T{0, 1, -0.5} {
		c := []T{2, 4, guard, 6, 8}
		Gemm(false, false, 2, 2, 0, 1, nil, 2, nil, 2, beta, c, 3)
		for i, want := range []T{2 * beta, 4 * beta, guard, 6 * beta, 8 * beta} {
			if c[i] != want {
				t.Errorf("element %d of beta %g times C is %g, want %g", i, beta, c[i], want)
			}
		}
	}
	c = []T{guard, guard}
	GemmPanels(false, 1, 2, 0, nil, 2, make([]T, PanelsLen(0, 2)), c, 2)
	if c[0] != 0 || c[1] != 0 {
		t.Errorf("a product of panels with no steps is %v, want 0", c)
	}
}

// TestSolveNotFinite: NaN and Inf reach the unknowns of their own system and of no other, and a zero on
// the diagonal gives a solution that is not finite.
func TestSolveNotFinite(t *testing.T) {
	bothTypes(t, testSolveNotFinite[float32], testSolveNotFinite[float64])
}

func testSolveNotFinite[T Float](t *testing.T) {
	const systems, bad = 21, 13
	r := source(20)
	for _, size := range []int{1, 7, 8, 20, 70} {
		for combo := range 4 {
			right, trans := combo&1 != 0, combo&2 != 0
			m, n := size, systems
			if right {
				m, n = n, m
			}
			l, b := lowerFactor[T](r, size, 1), newMatrix[T](r, m, n, 2)
			place := func(unknown, system int) (i, j int) {
				if right {
					return system, unknown
				}
				return unknown, system
			}
			i, j := place(size/2, bad)
			b.set(i, j, T(math.NaN()))
			Trsm(right, trans, m, n, l.s(), l.ld, b.s(), b.ld)
			for s := range systems {
				found := false
				for u := range size {
					i, j := place(u, s)
					found = found || !Finite(b.at(i, j))
				}
				if found != (s == bad) {
					t.Fatalf("%d unknowns, right %t, trans %t: system %d has NaN: %t", size, right, trans, s, found)
				}
			}
			l.set(size/2, size/2, 0)
			x := newMatrix[T](r, m, n, 0)
			Trsm(right, trans, m, n, l.s(), l.ld, x.s(), x.ld)
			i, j = place(size/2, 0)
			if Finite(x.at(i, j)) {
				t.Fatalf("%d unknowns, right %t, trans %t: %g after a division by 0", size, right, trans, x.at(i, j))
			}
		}
	}
}

// TestSyrkNotFinite: NaN in a row of A reaches the row and the column of C, and no other element.
func TestSyrkNotFinite(t *testing.T) {
	bothTypes(t, testSyrkNotFinite[float32], testSyrkNotFinite[float64])
}

func testSyrkNotFinite[T Float](t *testing.T) {
	for _, s := range [][2]int{{3, 5}, {9, 300}, {16, 7}, {40, 9}, {130, 3}} {
		for _, trans := range []bool{false, true} {
			n, k, bad := s[0], s[1], s[0]/2
			rows, cols := shape(trans, n, k)
			a, c := newMatrix[T](source(21), rows, cols, 1), newMatrix[T](source(22), n, n, 1)
			i, j := shape(trans, bad, k-1)
			a.set(i, j, T(math.NaN()))
			Syrk(trans, n, k, 1, a.s(), a.ld, 0, c.s(), c.ld)
			for i := range n {
				for j := range n {
					if Finite(c.at(i, j)) == (i == bad || j == bad) {
						t.Fatalf("n %d, k %d, trans %t: C[%d,%d] is %g", n, k, trans, i, j, c.at(i, j))
					}
				}
			}
		}
	}
}

// TestVectorsOfNothing: functions of vectors without elements do nothing, and sums of nothing are 0.
func TestVectorsOfNothing(t *testing.T) {
	bothTypes(t, testVectorsOfNothing[float32], testVectorsOfNothing[float64])
}

func testVectorsOfNothing[T Float](t *testing.T) {
	var none []T
	for _, u := range unaries[T]() {
		u.f(none, none)
	}
	Div(none, none, none)
	MulAdd(none, none, none, none)
	Axpy(2, none, none)
	Adam(none, none, none, none, &AdamCoefficients[T]{})
	if s := Sum(none) + Dot(none, none); s != 0 {
		t.Errorf("a sum of nothing is %g", s)
	}
	if i, v := FirstNonFinite(none); i != -1 || v != 0 {
		t.Errorf("element %d, %g, of nothing is not finite", i, v)
	}
}
