package kernel

import "testing"

// BenchmarkBinary reports nanoseconds per element of the functions of two or three vectors,
// which stay in the first level cache, and of a vector and a number.
func BenchmarkBinary(b *testing.B) {
	f32, f64 := binaries[float32](), binaries[float64]()
	for fn := range f32 {
		benchBoth(b, fn, benchUnary(f32[fn]), benchUnary(f64[fn]))
	}
}

func binaries[T Float]() map[string]func(dst, src []T) {
	return map[string]func(dst, src []T){
		"Sub":       func(d, s []T) { Sub(d, s, s) },
		"Mul":       func(d, s []T) { Mul(d, s, s) },
		"Div":       func(d, s []T) { Div(d, s, s) },
		"MulAdd":    func(d, s []T) { MulAdd(d, s, s, s) },
		"Scale":     func(d, s []T) { Scale(d, 1.5, s) },
		"AddScalar": func(d, s []T) { AddScalar(d, 1.5, s) },
	}
}

// BenchmarkRows reports nanoseconds per element of short rows, in place, in an array that stays in the
// first level cache: of one call for each row and of one call for all.
func BenchmarkRows(b *testing.B) {
	for _, n := range []int{16, 64, 100, 1024} {
		benchBoth(b, name("Scale/", n), benchRows[float32](n, scaleEach), benchRows[float64](n, scaleEach))
		benchBoth(b, name("ScaleByRow/", n), benchRows[float32](n, scaleRows), benchRows[float64](n, scaleRows))
	}
}

func scaleEach[T Float](a []T, n int) {
	for i := 0; i < len(a); i += n {
		Scale(a[i:i+n], 1, a[i:i+n])
	}
}

func scaleRows[T Float](a []T, n int) { ScaleByRow(Rows{len(a) / n, 0, n}, a, []T{1}, a) }

func benchRows[T Float](n int, f func(a []T, n int)) func(b *testing.B) {
	return func(b *testing.B) {
		a := newMatrix[T](source(1), 1, 4096/n*n, 0).s()
		for b.Loop() {
			f(a, n)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(a)), "ns/element")
	}
}

// BenchmarkTranspose reports nanoseconds per element, for matrices in the first and the
// second level cache and beyond them.
func BenchmarkTranspose(b *testing.B) {
	for _, n := range []int{32, 200, 1000} {
		benchBoth(b, name(n), benchTranspose[float32](n), benchTranspose[float64](n))
	}
}

func benchTranspose[T Float](n int) func(b *testing.B) {
	return func(b *testing.B) {
		src, dst := newMatrix[T](source(1), n, n, 0).s(), make([]T, n*n)
		for b.Loop() {
			Transpose(dst, n, src, n, n, n)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n*n), "ns/element")
	}
}

// BenchmarkParallel measures the cost of sharing out work of no length.
func BenchmarkParallel(b *testing.B) {
	defer SetThreads(0)
	for _, threads := range []int{1, 2} {
		SetThreads(threads)
		b.Run(name("threads=", threads), func(b *testing.B) {
			for b.Loop() {
				Parallel(threads, idle{})
			}
		})
	}
}

// idle is a job without work.
type idle struct{}

func (idle) Run(part, parts int) {}
