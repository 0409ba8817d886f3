package data

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// gaussians returns n rows of d values around c random centres.
func gaussians(n, d, c int, rng *rand.Rand) []float64 {
	centers := make([]float64, c*d)
	for i := range centers {
		centers[i] = 3 * rng.NormFloat64()
	}
	x := make([]float64, n*d)
	for i := range x {
		x[i] = centers[(i/d%c)*d+i%d] + rng.NormFloat64()
	}
	return x
}

// BenchmarkLloyd measures twenty of Lloyd's iterations on as many values as MNIST has.
func BenchmarkLloyd(b *testing.B) {
	b.Run("float64", benchmarkLloyd[float64])
	b.Run("float32", benchmarkLloyd[float32])
}

func benchmarkLloyd[T kernel.Float](b *testing.B) {
	const n, d, k = 60000, 784, 100
	x := manyRows[T](n, d)
	start := rand.New(rand.NewPCG(2, 0)).Perm(n)[:k]
	b.ReportAllocs()
	for b.Loop() {
		if err := startedAt(x, n, d, start).run(20, -1); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkKMeans measures all of k-means on as many values as CIFAR-10 and MNIST have.
func BenchmarkKMeans(b *testing.B) {
	for _, c := range []struct{ n, d int }{{50000, 3072}, {60000, 784}, {50000, 8}} {
		x := tensor.New(tensor.WithShape(c.n, c.d), tensor.WithBacking(manyRows[float32](c.n, c.d)))
		b.Run(fmt.Sprintf("%dx%d", c.n, c.d), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := KMeans(x, 100, KMeansPlusPlus, rand.New(rand.NewPCG(2, 0))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkKMeansPlusPlus(b *testing.B) {
	b.Run("float64", benchmarkPlusPlus[float64])
	b.Run("float32", benchmarkPlusPlus[float32])
}

func benchmarkPlusPlus[T kernel.Float](b *testing.B) {
	const n, d, k = 60000, 784, 100
	x := manyRows[T](n, d)
	b.ReportAllocs()
	for b.Loop() {
		plusPlus(x, n, d, k, rand.New(rand.NewPCG(2, 0)))
	}
}

// manyRows returns rows that lie in fewer heaps than k-means has centres.
func manyRows[T kernel.Float](n, d int) []T {
	x := make([]T, n*d)
	for i, v := range gaussians(n, d, 40, rand.New(rand.NewPCG(1, 0))) {
		x[i] = T(v)
	}
	return x
}

func BenchmarkBatch(b *testing.B) {
	s, err := NewSampler(60000, 100, 1)
	if err != nil {
		b.Fatal(err)
	}
	var dst []int
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		dst = s.Batch(i, dst)
		i++
	}
}

// BenchmarkReadCSV measures how many rows of 10 columns, one of them text, are read and encoded
// in a second.
func BenchmarkReadCSV(b *testing.B) {
	const n = 50_000
	rng := rand.New(rand.NewPCG(1, 0))
	var text strings.Builder
	text.WriteString("a,b,c,d,e,f,g,h,town,y\n")
	for range n {
		for range 8 {
			fmt.Fprintf(&text, "%.6g,", rng.NormFloat64())
		}
		fmt.Fprintf(&text, "T%d,%d\n", rng.IntN(5), rng.IntN(100))
	}
	for _, quotes := range []bool{false, true} {
		content := text.String()
		if quotes {
			content = strings.NewReplacer("T", `"T`, ",", ",").Replace(content)
			content = regexp.MustCompile(`"T(\d)`).ReplaceAllString(content, `"T$1"`)
		}
		b.Run(fmt.Sprintf("quotes=%t", quotes), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s, err := tableOf(b, content).Encode(ColumnOptions{})
				if err != nil || s.N() != n {
					b.Fatal(err)
				}
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
