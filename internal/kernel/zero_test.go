package kernel

import (
	"math"
	"testing"
)

// The first element that is not 0 is found at every place, behind zeros of both signs.
func TestFirstNonzero(t *testing.T) {
	testFirstNonzero[float32](t)
	testFirstNonzero[float64](t)
}

func testFirstNonzero[T Float](t *testing.T) {
	minus := T(math.Copysign(0, -1))
	for n := range 40 {
		for _, v := range []T{1, T(math.NaN()), -1e-30} {
			x := make([]T, n)
			if n > 3 {
				x[2] = minus
			}
			if got := FirstNonzero(x); got != -1 {
				t.Errorf("%d zeros: index %d", n, got)
			}
			for at := n - 1; at >= 0; at-- { // the later ones stay
				x[at] = v
				if got := FirstNonzero(x); got != at {
					t.Errorf("%d numbers, %v from %d on: index %d", n, v, at, got)
				}
			}
		}
	}
}

// The length is a row of 1,000 classes at as many inducing points.
func BenchmarkFirstNonzero(b *testing.B) {
	x := make([]float32, 1000)
	for b.Loop() {
		FirstNonzero(x)
	}
}
