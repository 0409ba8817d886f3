package eigen

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// Log determinants and traces of shifted matrices follow from the eigenvalues, for one block, for
// two, for parts of blocks, and for several stripes.
func TestBlocks(t *testing.T) {
	for _, n := range []int{1, 2, 50, blockWidth, blockWidth + 1, 2 * blockWidth, 2*blockWidth + 1, 3*blockWidth + 7, stripe + 2*blockWidth + 5} {
		for _, spread := range []float64{1, 1e6} {
			rng, d := rand.New(rand.NewPCG(1, uint64(n))), make([]float64, n)
			for i := range d {
				d[i] = math.Pow(spread, rng.Float64())
			}
			d[0] = 0
			a := withSpectrum(d, rng)
			for i := range n {
				for j := i + 1; j < n; j++ {
					a[i*n+j] = math.NaN() // is not read
				}
			}
			b, err := NewBlocks(t.Context(), n, a)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []float64{1e-3, 1, 1e4} {
				logDet, trace := 0.0, 0.0
				for _, v := range d {
					logDet += math.Log(v + s)
					trace += 1 / (v + s)
				}
				gotDet, gotTrace, pivot := b.Shifted(s)
				what, tol := fmt.Sprintf("n %d, spread %g, s %g", n, spread, s), 1e-12*max(1, spread/s)
				if pivot >= 0 || math.Abs(gotDet-logDet) > tol*float64(n) || math.Abs(gotTrace-trace) > tol*trace {
					t.Errorf("%s: log det %.15g, want %.15g; trace %.15g, want %.15g; pivot %d", what, gotDet, logDet, gotTrace, trace, pivot)
				}
			}
			if _, _, pivot := b.Shifted(-1e-3 * spread); pivot < 0 || pivot >= n {
				t.Errorf("n %d: pivot %d of a matrix that is not positive definite", n, pivot)
			}
		}
	}
}

func TestBlocksEnds(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewBlocks(ended, 1, []float64{1}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func BenchmarkBlocks(b *testing.B) {
	for _, n := range []int{1000, 3000} {
		rng := rand.New(rand.NewPCG(1, 1))
		a := make([]float64, n*n)
		for i := range n {
			for j := range i {
				a[i*n+j] = rng.NormFloat64()
			}
			a[i*n+i] = float64(n)
		}
		w := make([]float64, n*n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				copy(w, a)
				if _, err := NewBlocks(context.Background(), n, w); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(4./3*float64(n)*float64(n)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
