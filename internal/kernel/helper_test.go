package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// guard is the value around every test matrix; no function may change it.
const guard = 12345

// matrix is a rows×cols matrix inside a larger guarded slice.
type matrix[T Float] struct {
	rows, cols, ld int
	all            []T
}

const margin = 9 // guarded elements before the first and after the last

// newMatrix draws a standard normal matrix with pad guarded elements per row.
func newMatrix[T Float](r *rand.Rand, rows, cols, pad int) matrix[T] {
	m := matrix[T]{rows, cols, max(1, cols+pad), nil}
	m.all = make([]T, rows*m.ld+2*margin)
	for i := range m.all {
		m.all[i] = guard
	}
	for i := range rows {
		for j := range cols {
			m.set(i, j, T(r.NormFloat64()))
		}
	}
	return m
}

func (m matrix[T]) clone() matrix[T] {
	m.all = append([]T(nil), m.all...)
	return m
}

// s is the slice a kernel gets: from the first to the last element, exactly.
func (m matrix[T]) s() []T {
	if m.rows == 0 || m.cols == 0 {
		return nil
	}
	return m.all[margin : margin+(m.rows-1)*m.ld+m.cols]
}

func (m matrix[T]) at(i, j int) T     { return m.all[margin+i*m.ld+j] }
func (m matrix[T]) set(i, j int, v T) { m.all[margin+i*m.ld+j] = v }

// checkGuard fails if an element outside the matrix was written.
func (m matrix[T]) checkGuard(t tester) {
	t.Helper()
	inside := 0
	for _, v := range m.all {
		if v != guard {
			inside++
		}
	}
	for i := range m.rows {
		for j := range m.cols {
			if m.at(i, j) != guard {
				inside--
			}
		}
	}
	if inside != 0 {
		t.Fatalf("%d elements around a %d×%d matrix (ld %d) were overwritten", inside, m.rows, m.cols, m.ld)
	}
}

// op reads element i, j of op(m).
func (m matrix[T]) op(trans bool, i, j int) T {
	if trans {
		return m.at(j, i)
	}
	return m.at(i, j)
}

func epsilon[T Float]() float64 {
	if isFloat32[T]() {
		return 0x1p-24
	}
	return 0x1p-53
}

// exact is a sum of products to about twice the precision of float64, so that a comparison with it shows the rounding of
// the compared function alone. Product and sum keep their roundings (Dekker 1971, Knuth's two-sum).
type exact struct{ sum, rest float64 }

func (e *exact) add(x, y float64) {
	product := x * y
	sum := e.sum + product
	part := sum - e.sum
	e.rest += (e.sum - (sum - part)) + (product - part) + math.FMA(x, y, -product)
	e.sum = sum
}

func (e *exact) value() float64 {
	if math.IsInf(e.sum, 0) {
		return e.sum // whose rest is no number
	}
	return e.sum + e.rest
}

func isFloat32[T Float]() bool {
	big := T(1 << 24)
	return big+1 == big
}

// within reports whether got is within tol of want; NaN and Inf must agree exactly.
func within(got, want, tol float64) bool {
	return got == want || math.Abs(got-want) <= tol || math.IsNaN(want) && math.IsNaN(got)
}

// near fails unless got is within tol of want. Loops over many elements call within and put the name
// together only for an element that is off.
func near(t tester, what string, got, want, tol float64) {
	t.Helper()
	if !within(got, want, tol) {
		t.Fatalf("%s: got %v, want %v ± %v", what, got, want, tol)
	}
}

// bothTypes runs a generic test for float32 and float64 at every level.
func bothTypes(t *testing.T, f32, f64 func(t *testing.T)) {
	everyLevel(t, func(t *testing.T) {
		t.Run("float32", f32)
		t.Run("float64", f64)
	})
}

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func panics(t *testing.T, name string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s did not panic", name)
		}
	}()
	f()
}

func name(parts ...any) string { return fmt.Sprint(parts...) }
