package gp

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// times returns R Rᵀ for R [m,m], of which only the lower triangle counts.
func times(m int, r []float64) []float64 {
	out := make([]float64, m*m)
	for i := range m {
		for j := range m {
			for k := range min(i, j) + 1 {
				out[i*m+j] += r[i*m+k] * r[j*m+k]
			}
		}
	}
	return out
}

// TestFactor: R Rᵀ is the kernel plus the jitter on its diagonal, also of kernels of low rank, and
// the kernel stays as it is.
func TestFactor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, rank := rapid.IntRange(1, 6).Draw(t, "m"), rapid.IntRange(1, 6).Draw(t, "rank")
		v := rapid.SliceOfN(rapid.Float64Range(-3, 3), m*rank, m*rank).Draw(t, "features")
		k := make([]float64, m*m)
		for i := range m {
			for j := range m {
				for r := range rank {
					k[i*m+j] += v[i*rank+r] * v[j*rank+r]
				}
			}
		}
		mean := MeanDiagonal(m, k)
		if mean < 1e-6 {
			t.Skip("no kernel")
		}
		before := append([]float64(nil), k...)
		least := rapid.SampledFrom([]float64{0, 1e-13, 1e-8}).Draw(t, "least")
		r, jitter, err := Factor(m, k, least)
		if err != nil || jitter < least || jitter > 1.1e-5 {
			t.Fatalf("jitter %g, error %v", jitter, err)
		}
		got := times(m, r)
		for i := range k {
			want := before[i]
			if i%(m+1) == 0 {
				want += jitter * mean
			}
			if k[i] != before[i] || math.Abs(got[i]-want) > 1e-12*float64(m)*mean {
				t.Fatalf("element %d is %.15g, expected %.15g; the kernel has %g, before %g", i, got[i], want, k[i], before[i])
			}
		}
	})
}

// TestFactorSingular: a matrix that is no kernel, and one that is not finite, are errors.
func TestFactorSingular(t *testing.T) {
	for what, k := range map[string][]float64{"indefinite": {1, 2, 2, 1}, "zero": {0, 0, 0, 0}, "NaN": {math.NaN(), 0, 0, 1}} {
		if r, _, err := Factor(2, k, 0); !errors.Is(err, ErrJitter) || r != nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: factor %v, error %v", what, r, err)
		}
	}
	if got := MeanDiagonal(2, []float64{1, 9, 9, 4}); got != 2.5 {
		t.Errorf("mean of the diagonal %g", got)
	}
}
