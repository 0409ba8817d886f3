package openblas

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-valla/valla/internal/kernel"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// use loads the library for the time of a test, or skips it.
func use(t *testing.T) {
	t.Helper()
	if err := Load(""); errors.Is(err, ErrNotFound) {
		t.Skip("no OpenBLAS on this machine: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unload)
}

func unload() {
	kernel.SetProduct[float32](nil)
	kernel.SetProduct[float64](nil)
}

func TestGemm(t *testing.T) {
	use(t)
	unload()
	t.Run("float32", func(t *testing.T) { rapid.Check(t, checkGemm[float32](0x1p-24)) })
	t.Run("float64", func(t *testing.T) { rapid.Check(t, checkGemm[float64](0x1p-53)) })
}

// checkGemm compares products by the library with products by package kernel. Either is off
// by at most k·ε·|A||B|, and the elements of A and B are at most 1.
func checkGemm[T kernel.Float](epsilon float64) func(*rapid.T) {
	return func(t *rapid.T) {
		side := rapid.OneOf(rapid.IntRange(0, 5), rapid.IntRange(6, 120))
		m, n, k := side.Draw(t, "m"), side.Draw(t, "n"), side.Draw(t, "k")
		transA, transB := rapid.Bool().Draw(t, "transA"), rapid.Bool().Draw(t, "transB")
		alpha := rapid.SampledFrom([]T{1, -1, 2.5}).Draw(t, "alpha")
		beta := rapid.SampledFrom([]T{0, 1, -0.5}).Draw(t, "beta")
		pad := rapid.IntRange(0, 3).Draw(t, "pad")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		lda, ldb, ldc := max(1, cols(transA, m, k)+pad), max(1, cols(transB, k, n)+pad), max(1, n+pad)
		a, b := uniform[T](rng, max(m, k)*lda), uniform[T](rng, max(k, n)*ldb)
		c := uniform[T](rng, m*ldc)
		want := append([]T(nil), c...)
		kernel.Gemm(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, want, ldc)
		if beta == 0 { // then nothing may read C
			for i := range m {
				for j := range n {
					c[i*ldc+j] = T(math.NaN())
				}
			}
		}
		if err := Load(""); err != nil {
			t.Fatal(err)
		}
		defer unload()
		kernel.Gemm(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		tol := 2 * float64(k+3) * math.Abs(float64(alpha)) * float64(k+1) * epsilon
		for i, v := range c {
			if d := math.Abs(float64(v) - float64(want[i])); !(d <= tol) {
				t.Fatalf("%d×%d×%d: element %d is %v, without the library %v", m, n, k, i, v, want[i])
			}
		}
	}
}

func cols(trans bool, rows, cols int) int {
	if trans {
		return rows
	}
	return cols
}

func uniform[T kernel.Float](rng *rand.Rand, n int) []T {
	v := make([]T, n)
	for i := range v {
		v[i] = T(2*rng.Float64() - 1)
	}
	return v
}

// Products that are cut for several threads call the library from each thread.
func TestThreads(t *testing.T) {
	use(t)
	defer kernel.SetThreads(0)
	kernel.SetThreads(4)
	const n = 400
	rng := rand.New(rand.NewPCG(1, 2))
	a, b := uniform[float64](rng, n*n), uniform[float64](rng, n*n)
	got, want := make([]float64, n*n), make([]float64, n*n)
	kernel.Gemm(false, true, n, n, n, 1, a, n, b, n, 0, got, n)
	unload()
	kernel.Gemm(false, true, n, n, n, 1, a, n, b, n, 0, want, n)
	same := true
	for i, v := range got {
		if math.Abs(v-want[i]) > 2*n*n*0x1p-53 {
			t.Fatalf("element %d is %v, without the library %v", i, v, want[i])
		}
		same = same && v == want[i]
	}
	if same {
		t.Error("the library's products are these to the last bit: it was not called")
	}
}

// gonum's matrices run on the library as well.
func TestGonum(t *testing.T) {
	use(t)
	a := mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6})
	var p mat.Dense
	p.Mul(a, a.T())
	if want := mat.NewDense(2, 2, []float64{14, 32, 32, 77}); !mat.Equal(&p, want) {
		t.Errorf("got %v", mat.Formatted(&p))
	}
}

func TestErrors(t *testing.T) {
	if err := Load(filepath.Join(t.TempDir(), "libopenblas.so")); !errors.Is(err, ErrNotFound) {
		t.Errorf("missing file: %v", err)
	}
}

func BenchmarkGemm(b *testing.B) {
	if err := Load(""); err != nil {
		b.Skip(err)
	}
	defer unload()
	defer kernel.SetThreads(0)
	kernel.SetThreads(1)
	for _, s := range [][3]int{{256, 256, 256}, {1024, 1024, 1024}, {100, 200, 784}, {1000, 200, 200}, {1000, 100, 2304}, {100, 10, 200}, {10, 10, 200}} {
		b.Run(rows("f32", s), benchGemm[float32](s))
		b.Run(rows("f64", s), benchGemm[float64](s))
	}
}

func rows(dtype string, s [3]int) string { return fmt.Sprintf("%s/%dx%dx%d", dtype, s[0], s[1], s[2]) }

// benchGemm measures the library and, alternately, package kernel; the second number
// is kernel's.
func benchGemm[T kernel.Float](s [3]int) func(*testing.B) {
	return func(b *testing.B) {
		m, n, k := s[0], s[1], s[2]
		rng := rand.New(rand.NewPCG(1, 2))
		x, y, z := uniform[T](rng, m*k), uniform[T](rng, k*n), make([]T, m*n)
		run := func() time.Duration {
			start := time.Now()
			kernel.Gemm(false, false, m, n, k, 1, x, k, y, n, 0, z, n)
			return time.Since(start)
		}
		theirs, ours := time.Hour, time.Hour
		for b.Loop() {
			if err := Load(""); err != nil {
				b.Fatal(err)
			}
			run()
			theirs = min(theirs, run())
			unload()
			run()
			ours = min(ours, run())
		}
		flops := 2 * float64(m) * float64(n) * float64(k)
		b.ReportMetric(flops/theirs.Seconds()/1e9, "GFLOP/s")
		b.ReportMetric(flops/ours.Seconds()/1e9, "kernel-GFLOP/s")
		b.ReportMetric(theirs.Seconds()/ours.Seconds(), "kernel/library")
	}
}
