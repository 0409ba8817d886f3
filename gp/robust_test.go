package gp_test

import (
	"math"
	"testing"

	"github.com/go-valla/valla/gp"
)

// TestRobust: rows near their means count as they are up to 1/n, and a row costs at most log(n+1) more than with its best
// variance, however far out it lies.
func TestRobust(t *testing.T) {
	const rows = 99
	near := gp.Robust([]float64{-1, -2, -50}, []float64{-6, -6, -6}, []float64{0.5, 0.25, 0}, rows)
	if want := -1.0; math.Abs(near-want) > 0.01 {
		t.Errorf("%g, want %g and less than 1/100 more", near, want)
	}
	for _, logP := range []float64{-100, -1e6, math.Inf(-1)} {
		if got, want := gp.Robust([]float64{logP}, []float64{-6}, []float64{1}, rows), -6-math.Log(rows+1); math.Abs(got-want) > 1e-9 {
			t.Errorf("log density %g counts as %g, want %g", logP, got, want)
		}
	}
}
