package kernel

import "testing"

func TestSquaredDistance(t *testing.T) {
	// 3^2 + 4^2 + 12^2 = 169, and its leading parts 0, 9, 25
	for n, want := range []float64{0, 9, 25, 169} {
		if got := SquaredDistance([]float64{3, 1, 12}[:n], []float64{0, 5, 0}[:n], make([]float64, 2)); got != want {
			t.Errorf("of %d numbers: %g, want %g", n, got, want)
		}
	}
}
