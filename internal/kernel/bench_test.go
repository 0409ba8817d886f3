package kernel

import (
	"testing"
)

// benchBoth runs a benchmark for both types on one thread.
func benchBoth(b *testing.B, name string, f32, f64 func(b *testing.B)) {
	defer SetThreads(0)
	SetThreads(1)
	b.Run("f32/"+name, f32)
	b.Run("f64/"+name, f64)
}

func gflops(b *testing.B, flops float64) {
	b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

func BenchmarkGemm(b *testing.B) {
	for _, s := range [][3]int{{64, 64, 64}, {128, 128, 128}, {256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024},
		{100, 200, 784}, {1000, 200, 200}, {100, 100, 200}, {200, 200, 200}, {100, 10, 200}, {10, 100, 200}, {10, 10, 200}, {1, 200, 784}, {200, 1, 784}} {
		for combo := range 4 {
			if combo != 0 && s[0] != 256 && s[0] != 100 && s[0] != 1 && s[1] != 1 {
				continue
			}
			tA, tB := combo&1 != 0, combo&2 != 0
			label := name(s[0], "x", s[1], "x", s[2], "NT"[combo&1:combo&1+1], "NT"[combo>>1:combo>>1+1])
			benchBoth(b, label, benchGemm[float32](tA, tB, s), benchGemm[float64](tA, tB, s))
		}
	}
}

func benchGemm[T Float](tA, tB bool, s [3]int) func(b *testing.B) {
	return func(b *testing.B) {
		p := newProduct[T](source(1), tA, tB, s[0], s[1], s[2], 1, 0, 0)
		for b.Loop() {
			p.run(p.c)
		}
		gflops(b, 2*float64(s[0])*float64(s[1])*float64(s[2]))
	}
}

// Rows of predictions with inducing points, of ResNets and of perceptrons.
func BenchmarkGemmPanels(b *testing.B) {
	for _, s := range [][3]int{{200, 100, 2304}, {200, 100, 9216}, {200, 100, 36864}, {200, 96, 36864}, {200, 100, 200}} {
		benchBoth(b, name(s[0], "x", s[1], "x", s[2]), benchPanels[float32](s), benchPanels[float64](s))
	}
}

func benchPanels[T Float](s [3]int) func(b *testing.B) {
	return func(b *testing.B) {
		p := newProduct[T](source(1), false, true, s[0], s[1], s[2], 1, 0, 0)
		panels := make([]T, PanelsLen(p.k, p.n))
		Panels(true, p.k, p.n, p.b.s(), p.b.ld, panels)
		for b.Loop() {
			GemmPanels(false, p.m, p.n, p.k, p.a.s(), p.a.ld, panels, p.c.s(), p.n)
		}
		gflops(b, 2*float64(p.m)*float64(p.n)*float64(p.k))
	}
}

// A is normal or subnormal, as weights are that have decayed: the times agree.
func BenchmarkGemmSubnormal(b *testing.B) {
	for name, v := range map[string]float32{"normal": 1e-3, "subnormal": 1e-40} {
		b.Run(name, func(b *testing.B) {
			const m, n = 100, 200
			x, y, z := make([]float32, m*n), make([]float32, n*n), make([]float32, m*n)
			for i := range x {
				x[i] = v
			}
			for i := range y {
				y[i] = 0.5
			}
			for b.Loop() {
				Gemm(false, false, m, n, n, 1, x, n, y, n, 0, z, n)
			}
		})
	}
}

func BenchmarkGemmThreads(b *testing.B) {
	defer SetThreads(0)
	for _, n := range []int{64, 128, 256, 1024} {
		for threads := 1; threads <= 2; threads++ {
			SetThreads(threads)
			b.Run(name("f32/", n, "/threads=", threads), benchGemm[float32](false, false, [3]int{n, n, n}))
			b.Run(name("f64/", n, "/threads=", threads), benchGemm[float64](false, false, [3]int{n, n, n}))
		}
	}
}

// BenchmarkCopy copies an array that no cache holds, on one thread and on two: the bandwidth of
// the memory, as bytes read and bytes written.
func BenchmarkCopy(b *testing.B) {
	const n = 32 << 20
	from, to := make([]float64, n), make([]float64, n)
	for i := range from { // pages that nobody has written are all the same one
		from[i] = 1
	}
	for _, threads := range []int{1, 2} {
		b.Run(name("threads ", threads), func(b *testing.B) {
			defer SetThreads(0)
			SetThreads(threads)
			b.SetBytes(2 * 8 * n)
			for b.Loop() {
				Parallel(threads, copies{to, from})
			}
		})
	}
}

// copies is the Job of BenchmarkCopy.
type copies struct{ to, from []float64 }

func (c copies) Run(part, parts int) {
	copy(c.to[len(c.to)*part/parts:len(c.to)*(part+1)/parts], c.from[len(c.from)*part/parts:])
}

func BenchmarkCholesky(b *testing.B) {
	for _, n := range []int{100, 200, 1000, 3000} {
		benchBoth(b, name(n), benchCholesky[float32](n), benchCholesky[float64](n))
	}
}

func benchCholesky[T Float](n int) func(b *testing.B) {
	return func(b *testing.B) {
		a := newMatrix[T](source(1), n, n, 0)
		for i := range n {
			a.set(i, i, T(4*n))
		}
		l := a.clone()
		for b.Loop() {
			copy(l.all, a.all)
			if p := Cholesky(n, l.s(), n); p >= 0 {
				b.Fatal("pivot", p)
			}
		}
		gflops(b, float64(n)*float64(n)*float64(n)/3)
	}
}

func BenchmarkTrsm(b *testing.B) {
	for _, n := range []int{100, 1000} {
		for _, right := range []bool{false, true} {
			for _, trans := range []bool{false, true} {
				benchBoth(b, name(n, "/right=", right, "/trans=", trans), benchTrsm[float32](right, trans, n), benchTrsm[float64](right, trans, n))
			}
		}
	}
}

func benchTrsm[T Float](right, trans bool, n int) func(b *testing.B) {
	return func(b *testing.B) {
		l, x := lowerFactor[T](source(1), n, 0), newMatrix[T](source(2), n, n, 0)
		for i := range n {
			l.set(i, i, 1) // solving again and again must not shrink to denormals
		}
		for b.Loop() {
			Trsm(right, trans, n, n, l.s(), n, x.s(), n)
		}
		gflops(b, float64(n)*float64(n)*float64(n))
	}
}

func BenchmarkSyrk(b *testing.B) {
	for _, s := range [][2]int{{100, 100}, {200, 200}, {1000, 1000}, {10, 64}, {10, 432}, {10, 2304}, {10, 36864}} {
		benchBoth(b, name(s[0], "x", s[1]), benchSyrk[float32](s[0], s[1]), benchSyrk[float64](s[0], s[1]))
	}
}

func benchSyrk[T Float](n, k int) func(b *testing.B) {
	return func(b *testing.B) {
		a, c := newMatrix[T](source(1), n, k, 0), newMatrix[T](source(2), n, n, 0)
		for b.Loop() {
			Syrk(false, n, k, 1, a.s(), k, 0, c.s(), n)
		}
		gflops(b, float64(n)*float64(n)*float64(k))
	}
}

// BenchmarkVector reports nanoseconds per element, for vectors that stay in
// the first level cache.
func BenchmarkVector(b *testing.B) {
	f32, f64 := unaries[float32](), unaries[float64]()
	for fn := range f32 {
		benchBoth(b, fn, benchUnary(f32[fn].f), benchUnary(f64[fn].f))
	}
	benchBoth(b, "Add", benchUnary(func(d, s []float32) { Add(d, s, s) }), benchUnary(func(d, s []float64) { Add(d, s, s) }))
	benchBoth(b, "Axpy", benchUnary(func(d, s []float32) { Axpy(1e-9, s, d) }), benchUnary(func(d, s []float64) { Axpy(1e-9, s, d) }))
	benchBoth(b, "Dot", benchUnary(func(d, s []float32) { Dot(d, s) }), benchUnary(func(d, s []float64) { Dot(d, s) }))
	benchBoth(b, "Sum", benchUnary(func(d, s []float32) { Sum(s) }), benchUnary(func(d, s []float64) { Sum(s) }))
}

func benchUnary[T Float](f func(dst, src []T)) func(b *testing.B) {
	return func(b *testing.B) {
		const n = 1000
		src, dst := newMatrix[T](source(1), 1, n, 0).s(), make([]T, n)
		for b.Loop() {
			f(dst, src)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/element")
	}
}
