package kernel

import "testing"

func TestGemmLong(t *testing.T) { bothTypes(t, testGemmLong[float32], testGemmLong[float64]) }

// testGemmLong has more steps than one range, and a number of steps that is no multiple of the ranges.
func testGemmLong[T Float](t *testing.T) {
	const k = longSteps + 77
	for i := range 4 {
		p := newProduct[T](source(uint64(i)), i%2 == 1, i/2 == 1, 3, 5, k, T(1)-T(i)/8, T(i/2), i)
		g := gemm[T]{m: p.m, n: p.n, k: k}
		if !g.long() {
			t.Fatal("the product is not cut into ranges")
		}
		p.check(t)
		checkThreads(t, name("long product ", i), p.c, p.run)
	}
}
