package kernel

import (
	"math"
	"testing"
)

func TestGolden(t *testing.T) {
	for _, at := range []float64{-3, 0.25, 7.5} {
		calls := 0
		got := Golden(func(x float64) float64 { calls++; return math.Cosh(x - at) }, -10, 12)
		if math.Abs(got-at) > 1e-7 || calls > 60 {
			t.Errorf("minimum at %g after %d calls, expected %g", got, calls, at)
		}
	}
	if got := Golden(func(x float64) float64 { return x }, 1, 2); math.Abs(got-1) > 1e-8 {
		t.Errorf("minimum of a rising function at %g, expected its lower end", got)
	}
}
