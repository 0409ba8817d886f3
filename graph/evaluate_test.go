package graph

import (
	"slices"
	"testing"

	"gorgonia.org/tensor"
)

// TestEvaluate: the values are copies in float64 of either element type, and the error of a graph
// that cannot be built or computed is returned.
func TestEvaluate(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		b, w := NewBuilder(dt), NewParam("w", []float64{1, -2}, dt, 2)
		v, err := Evaluate(b, b.Square(b.Param(w)), b.Sum(b.Param(w)))
		if err != nil || !slices.Equal(v[0], []float64{1, 4}) || !slices.Equal(v[1], []float64{-1}) {
			t.Errorf("%v: %v, error %v", dt, v, err)
		}
	}
	b := NewBuilder(tensor.Float64)
	if _, err := Evaluate(b, b.Cholesky(b.Const("a", []float64{-1}, 1, 1))); err == nil {
		t.Error("a matrix that has no factor has one")
	}
	if _, err := Evaluate(b, b.Reshape(b.Const("x", []float64{1}, 1), 2)); err == nil {
		t.Error("one element has the shape of two")
	}
}
