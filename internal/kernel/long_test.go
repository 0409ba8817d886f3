package kernel

import "testing"

func TestGemmLong(t *testing.T) { bothTypes(t, testGemmLong[float32], testGemmLong[float64]) }

// testGemmLong has more steps than blocks whose sums are kept, and a last block that is shorter than the others.
func testGemmLong[T Float](t *testing.T) {
	const k = longSteps + 77
	for i := range 4 {
		p := newProduct[T](source(uint64(i)), i%2 == 1, i/2 == 1, 3, 5, k, T(1)-T(i)/8, T(i/2), i)
		checkThreads(t, name("long product ", i), p.c, p.run) // on one thread in the usual way
		SetThreads(2)
		if g := (gemm[T]{m: p.m, n: p.n, k: k, alpha: p.alpha}); !g.long() && p.alpha == 1 {
			t.Fatal("threads do not share the steps")
		}
		p.check(t)
		SetThreads(0)
	}
}
