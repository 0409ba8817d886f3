package valla

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkSparse compares products that pass over zeros with full products: rows of 1,000 inducing points, of which a share is not
// zero.
func BenchmarkSparse(b *testing.B) {
	const m, n = 1000, 200
	rng := rand.New(rand.NewPCG(1, 2))
	v, w, u := make([]float64, n*m), make([]float64, n*m), make([]float64, m*m)
	for i := range u {
		u[i] = rng.NormFloat64()
	}
	for i := range v {
		if i%16 == 0 {
			v[i] = rng.NormFloat64()
		}
	}
	p := &spectrum{frame: &frame{m: m}, u: u}
	b.Run("full", func(b *testing.B) {
		for b.Loop() {
			p.rotate(v)
		}
	})
	b.Run("a sixteenth", func(b *testing.B) {
		for b.Loop() {
			sparseProduct(w, v, u, m)
		}
	})
}
