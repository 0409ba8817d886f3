package data

import (
	"math/rand/v2"
	"testing"
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

// BenchmarkLloyd measures one of Lloyd's iterations on as many values as MNIST has.
func BenchmarkLloyd(b *testing.B) {
	const n, d, k = 60000, 784, 100
	x := gaussians(n, d, k, rand.New(rand.NewPCG(1, 0)))
	start := rand.New(rand.NewPCG(2, 0)).Perm(n)[:k]
	l := newLloyd(x, n, d, start)
	for b.Loop() {
		l.assign()
		l.refill()
		l.update()
	}
}

func BenchmarkKMeansPlusPlus(b *testing.B) {
	const n, d, k = 60000, 784, 100
	x := gaussians(n, d, k, rand.New(rand.NewPCG(1, 0)))
	for b.Loop() {
		plusPlus(x, n, d, k, rand.New(rand.NewPCG(2, 0)))
	}
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
