package graph

import (
	"testing"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// TestBinaryRange: whatever part of the elements is computed, in whole rows, in parts of rows and
// over several outer dimensions, each element equals the definition's, and no other is written.
func TestBinaryRange(t *testing.T) {
	scratch := make([]float64, scratchLen)
	full := tensor.Shape{2, 3, 2, 5}
	shapes := []tensor.Shape{full, {3, 1, 1}, {2, 3, 1, 1}, {1, 3, 2, 1}, {2, 1, 1, 1}, {2, 5}, {5}, {2, 1, 2, 5}, {2, 1}, {1}}
	for name, op := range map[string]struct {
		f    pairwise[float64]
		want func(a, b float64) float64
	}{
		"add": {sums[float64](), func(a, b float64) float64 { return a + b }},
		"sub": {differences[float64](), func(a, b float64) float64 { return a - b }},
		"mul": {products[float64](), func(a, b float64) float64 { return a * b }},
		"div": {pairwise[float64]{each: kernel.DivByRow[float64]}, func(a, b float64) float64 { return a / b }},
	} {
		for _, s := range shapes {
			for _, in := range [][2]tensor.Shape{{full, s}, {s, full}} {
				x, want := broadcastOperands(full, in, op.want)
				f := binaryRange(newLoop(full, full, in[0], in[1]), op.f)
				for from := range want {
					for to := from; to <= len(want); to++ {
						checkRange(t, name, in, f, x, from, to, want, scratch)
					}
				}
			}
		}
	}
}

// broadcastOperands returns arrays of the given shapes and the elements of f over them.
func broadcastOperands(full tensor.Shape, in [2]tensor.Shape, f func(a, b float64) float64) (x [][]float64, want []float64) {
	var strides [2][]int
	for k, s := range in {
		strides[k] = broadcastStrides(full, s)
		v := make([]float64, size(s))
		for i := range v {
			v[i] = float64(i + 1 + 200*k)
		}
		x = append(x, v)
	}
	for i := range size(full) {
		var at [2]int
		for d, left := len(full)-1, i; d >= 0; d-- {
			for k := range at {
				at[k] += left % full[d] * strides[k][d]
			}
			left /= full[d]
		}
		want = append(want, f(x[0][at[0]], x[1][at[1]]))
	}
	return x, want
}

func checkRange(t *testing.T, name string, in [2]tensor.Shape, f rangeLoop[float64], x [][]float64, from, to int, want, scratch []float64) {
	t.Helper()
	y := make([]float64, len(want))
	f(y, x, from, to, scratch)
	for i, got := range y {
		expected := 0.0
		if i >= from && i < to {
			expected = want[i]
		}
		if got != expected {
			t.Fatalf("%s of %v, elements %d to %d: element %d is %v, want %v", name, in, from, to, i, got, expected)
		}
	}
}
