package law_test

import (
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/gp/law"
)

// BenchmarkQuantile measures the quantile that an interval of a prediction needs.
func BenchmarkQuantile(b *testing.B) {
	for _, l := range []law.Law{
		law.Normal(), {Family: law.StudentT, DoF: 4.3, Scale: 0.8},
		{Family: law.Mixture, Weights: []float64{.3, .5, .2}, Shifts: []float64{-1, .2, 1}, Scales: []float64{.4, .6, 1.5}},
	} {
		l := l.Remembering()
		b.Run(l.Family, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				l.Quantile(0.975)
			}
		})
	}
}

// BenchmarkLogScale measures the own scale of a row with ten features and 64 units.
func BenchmarkLogScale(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	r, _ := uneven(rng, 2000, 10, 1, law.Normal())
	l, _ := fit(b, r, law.Options{Own: law.OwnAlways})
	b.ReportAllocs()
	for b.Loop() {
		l.LogScale(r.Features[:10])
	}
}
