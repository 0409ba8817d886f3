package graph_test

import (
	"math"
	"testing"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

func row[T float32 | float64](v ...T) *tensor.Dense {
	return tensor.New(tensor.WithShape(len(v)), tensor.WithBacking(v))
}

func TestFirstNonFinite(t *testing.T) {
	for _, c := range []struct {
		t *tensor.Dense
		i int
		v float64
	}{
		{row(1.0, 2), -1, 0}, {row(float32(1), 2), -1, 0},
		{row(1, math.Inf(1), math.NaN()), 1, math.Inf(1)}, {row(float32(math.Inf(-1)), 0), 0, math.Inf(-1)},
	} {
		if i, v := graph.FirstNonFinite(c.t); i != c.i || v != c.v {
			t.Errorf("%v: element %d, %g, want %d, %g", c.t, i, v, c.i, c.v)
		}
	}
}
