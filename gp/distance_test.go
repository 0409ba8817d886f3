package gp

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/internal/fixture"
	"gorgonia.org/tensor"
)

// TestLengthScale: the length scale of evenly spread rows is known. Equal rows have no length scale.
func TestLengthScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	rows := func(n int, v ...float64) *tensor.Dense {
		return tensor.New(tensor.WithShape(n, len(v)/n), tensor.WithBacking(v))
	}
	if got := LengthScale(rows(2, 0, 0, 3, 4), rng); got != math.Sqrt(12.5) {
		t.Errorf("two rows at the distance 5: %g", got)
	}
	normal := make([]float64, 2000*40)
	for i := range normal {
		normal[i] = rng.NormFloat64()
	}
	if got := LengthScale(rows(2000, normal...), rng); math.Abs(got/math.Sqrt(40)-1) > 0.03 {
		t.Errorf("normal rows of 40 inputs: %g, want about √40", got)
	}
	for _, x := range []*tensor.Dense{rows(3, 1, 1, 1), rows(1, 1, 2)} {
		if got := LengthScale(x, rng); got != 1 {
			t.Errorf("rows that do not differ: %g", got)
		}
	}
}

// TestFixtureLengthScale: the lower median of the distances of pairs, over √2.
func TestFixtureLengthScale(t *testing.T) {
	a := fixture.Load(t, "fmgp")
	got := medianScale(distances(a.Dense(t, "init_a"), a.Dense(t, "init_b")))
	fixture.Close(t, "init_length_scale", []float64{got}, []float64{a.Scalar(t, "init_length_scale")}, 1e-12)
}
