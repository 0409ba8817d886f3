package kernel

import (
	"math"
	"testing"
)

func TestFirstNonFiniteFindsEveryPlace(t *testing.T) {
	for n := range 20 {
		x := make([]float32, n)
		for i := range x {
			x[i] = math.MaxFloat32 // whose sum would overflow
		}
		if i, _ := FirstNonFinite(x); i != -1 {
			t.Errorf("%d finite numbers: index %d", n, i)
		}
		for at := n - 1; at >= 0; at-- { // the later ones stay bad
			x[at] = float32(math.Inf(1 - 2*(at%2)))
			if i, v := FirstNonFinite(x); i != at || v != x[at] {
				t.Errorf("%d numbers, bad from %d on: index %d, value %v", n, at, i, v)
			}
		}
	}
}

// The length is the number of weights of a 784-200-200-10 network.
func BenchmarkFirstNonFinite(b *testing.B) {
	x := make([]float32, 784*200+200+200*200+200+200*10+10)
	for b.Loop() {
		FirstNonFinite(x)
	}
}
