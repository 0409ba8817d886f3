package valla

import (
	"slices"
	"testing"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// TestNaturalThreads: a fit has the same bits however many threads share the rungs.
func TestNaturalThreads(t *testing.T) {
	defer kernel.SetThreads(kernel.Threads())
	var first []float64
	for _, threads := range []int{1, 2, 7} {
		kernel.SetThreads(threads)
		f, x, y := curveFit(t, tensor.Float64)
		if _, err := f.Run(ctx, x, y); err != nil {
			t.Fatal(err)
		}
		got := append(f.Layer.L.Floats(), f.Layer.Z.Floats()...)
		got = append(got, f.Layer.PriorStd())
		if first == nil {
			first = got
		}
		if !slices.Equal(got, first) {
			t.Errorf("%d threads: another posterior than with one", threads)
		}
	}
}
