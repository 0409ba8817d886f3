package law_test

import (
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
