package laplace

import (
	"testing"

	"gorgonia.org/tensor"
)

// The network has 2·w + w + w + 1 weights: 601 at w = 150, 4001 at w = 1000.
var sizes = map[string]int{"weight space P=601": 150, "function space P=4001": 1000}

func BenchmarkFit(b *testing.B) {
	for name, hidden := range sizes {
		p := newProblem(b, 1, tensor.Float64, 1000, hidden, 1)
		for what, o := range map[string]Options{"fixed": {PriorStd: 1, NoiseStd: 0.5}, "maximised": {}} {
			b.Run(name+" "+what, func(b *testing.B) {
				for b.Loop() {
					p.fit(b, o)
				}
			})
		}
	}
}

func BenchmarkPredict(b *testing.B) {
	for name, hidden := range sizes {
		p := newProblem(b, 1, tensor.Float64, 1000, hidden, 1)
		q := p.fit(b, Options{PriorStd: 1, NoiseStd: 0.5})
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				predict(b, q, p.x)
			}
		})
	}
}
