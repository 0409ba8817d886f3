package valla

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
)

// apart returns a kernel [M,M] of points that carry one of c outputs each, and rows k̂ [n,M] of one output each; points of
// different outputs have nothing in common.
func apart(rng *rand.Rand, m, c, n int) (gram, rows []float64) {
	gram, rows = make([]float64, m*m), make([]float64, n*m)
	at := make([][3]float64, m+n)
	for i := range at {
		for d := range at[i] {
			at[i][d] = rng.NormFloat64()
		}
	}
	dot := func(a, b int) float64 { return 1 + at[a][0]*at[b][0] + at[a][1]*at[b][1] + at[a][2]*at[b][2] }
	for i := range m {
		for j := range m {
			if i%c == j%c {
				gram[i*m+j] = dot(i, j)
			}
		}
		gram[i*m+i] += 0.1
	}
	for i := range n {
		for j := range m {
			if i%c == j%c {
				rows[i*m+j] = dot(m+i, j)
			}
		}
	}
	return gram, rows
}

// TestSparse: products that pass over zeros are full products, in whitened coordinates and in predictions.
func TestSparse(t *testing.T) {
	for _, c := range []int{20, 50} {
		rng := rand.New(rand.NewPCG(3, uint64(c)))
		const m, n = 100, 70
		gram, rows := apart(rng, m, c, n)
		f, err := newFrame(m, gram, 0)
		if err != nil {
			t.Fatal(err)
		}
		if f.transposed == nil {
			t.Fatalf("a kernel of %d outputs is not sparse", c)
		}
		full := *f
		full.transposed = nil
		v, want := append([]float64(nil), rows...), append([]float64(nil), rows...)
		f.whiten(v)
		full.whiten(want)
		fixture.Close(t, fmt.Sprint("whitened rows of ", c, " outputs"), v, want, 1e-12)
		p, err := f.spectrum(weightedGram(nil, m, make([]float64, n), v))
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.u {
			p.u[i] = rng.NormFloat64()
		}
		q := *p
		q.frame = &full
		fixture.Close(t, "rotated rows", p.rotate(v), q.rotate(v), 1e-11)
		checkSparseSystem(t, rng, m, gram, rows)
	}
}

// checkSparseSystem compares the variances of a sparse system with full products.
func checkSparseSystem(t *testing.T, rng *rand.Rand, m int, gram, rows []float64) {
	t.Helper()
	low := make([]float64, m*m)
	for i := range m {
		for j := range i + 1 {
			low[i*m+j] = rng.NormFloat64() / 10
		}
		low[i*m+i] = 1
	}
	a, err := newSystem(2, low, gram)
	if err != nil || !a.sparse {
		t.Fatalf("sparse: %v, error %v", a.sparse, err)
	}
	b, w := *a, make([]float64, len(rows))
	b.sparse = false
	got, want := make([]float64, len(rows)/m), make([]float64, len(rows)/m)
	prior := make([]float64, len(got))
	for i := range prior {
		prior[i] = 100
	}
	a.variances(got, prior, rows, w)
	b.variances(want, prior, rows, w)
	fixture.Close(t, "variances", got, want, 1e-10)
	for i := range m { // rows of one number, and a row of zeros
		clear(rows[i%3*m : (i%3+1)*m])
		if i%3 > 0 {
			rows[i%3*m+i] = rng.NormFloat64()
		}
		var few sparseRows
		few.gather(dense.Of(rows, len(rows)/m, m), len(got), m)
		a.sparseVariances(got, prior, &few, w)
		b.variances(want, prior, rows, make([]float64, len(rows)))
		fixture.Close(t, "variances by few numbers", got, want, 1e-10)
	}
}
