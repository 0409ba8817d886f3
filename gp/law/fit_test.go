package law_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/gp/law"
)

// fit fits a law to residuals, and fails the test if the fit does.
func fit(t testing.TB, r law.Residuals, o law.Options) (law.Law, law.Report) {
	t.Helper()
	l, report, err := law.Fit(context.Background(), r, o)
	if err != nil {
		t.Fatal(err)
	}
	return l, report
}

// uneven returns n residuals whose log scale depends on two of d features, and the log scales.
func uneven(rng *rand.Rand, n, d int, strength float64, noise law.Law) (r law.Residuals, logs []float64) {
	for range n {
		x := make([]float64, d)
		for j := range x {
			x[j] = 5 + 3*rng.NormFloat64()
		}
		a, b := (x[0]-5)/3, (x[1]-5)/3
		h := strength * (0.5*a + math.Tanh(2*b)*0.4)
		r.Features, logs = append(r.Features, x...), append(logs, h)
		r.Z = append(r.Z, math.Exp(h)*noise.Draw(rng))
	}
	return r, logs
}

func BenchmarkFit(b *testing.B) {
	for name, n := range map[string]int{"500 rows": 500, "10000 rows": 10_000} {
		r, _ := uneven(rand.New(rand.NewPCG(1, 2)), n, 8, 1, law.Law{Family: law.StudentT, DoF: 4, Scale: 0.7})
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, _ = fit(b, r, law.Options{})
			}
		})
	}
}
