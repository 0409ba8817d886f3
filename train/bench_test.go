package train

import (
	"testing"

	"github.com/go-valla/valla/internal/kernel"
)

// The size of the 784-200-200-10 network of the MNIST experiments.
const benchSize = 784*200 + 200 + 200*200 + 200 + 200*10 + 10

func BenchmarkStep(b *testing.B) {
	for name, newOptimizer := range optimizers {
		b.Run(name+"/float32", func(b *testing.B) { benchmarkStep[float32](b, newOptimizer()) })
		b.Run(name+"/float64", func(b *testing.B) { benchmarkStep[float64](b, newOptimizer()) })
	}
}

func benchmarkStep[T kernel.Float](b *testing.B, o Optimizer) {
	params := []Param{newParam[T]("w", []int{benchSize}, make([]float64, benchSize)...)}
	fill(params, 1)
	b.ReportAllocs()
	for b.Loop() {
		if err := o.Step(params, 1); err != nil {
			b.Fatal(err)
		}
	}
}
