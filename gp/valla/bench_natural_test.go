package valla

import (
	"fmt"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// BenchmarkNatural is a natural-gradient fit of 30 steps with validation, B = 100; ms/step
// has its share of all that a fit does beside the steps.
func BenchmarkNatural(b *testing.B) {
	const steps = 30
	for _, c := range benchCases {
		for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			b.Run(fmt.Sprintf("%s/%v", c.name, dt), func(b *testing.B) {
				f, x, y := benchFit(b, c.net, 100, dt)
				z := graph.Convert(f.Layer.Z.Value, dt)
				for b.Loop() {
					layer, err := NewLayer(f.Layer.Kernel, graph.Convert(z, dt), f.Layer.Class)
					if err != nil {
						b.Fatal(err)
					}
					n := naturalFit{Net: f.Net, Layer: layer, Likelihood: f.Likelihood, Alpha: f.Alpha,
						ValidationX: x, ValidationY: y, Config: train.Config{Iterations: steps, ValidateEvery: 15}}
					if _, err := n.Run(ctx, x, y); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/1e3/float64(b.N*steps), "ms/step")
			})
		}
	}
}
