package gp_test

import (
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/fixture"
)

func TestLogSpaced(t *testing.T) {
	fixture.Close(t, "five", gp.LogSpaced(0.01, 100, 5), []float64{0.01, 0.1, 1, 10, 100}, 1e-14)
	fixture.Close(t, "one", gp.LogSpaced(0.5, 100, 1), []float64{0.5}, 0)
}

// TestEndOfGrid: a standard deviation at an end of a grid is said to be there, with what to try.
func TestEndOfGrid(t *testing.T) {
	for _, c := range []struct {
		v, lo, hi float64
		want      []string
	}{
		{1, 0.5, 2, nil}, {1, 1, 1, nil},
		{0.5, 0.5, 2, []string{"The noise standard deviation 0.5 is the smallest of the grid, so that the best one may lie beyond: try the setting noise-std."}},
		{2 * (1 + 1e-12), 0.5, 2, []string{"The noise standard deviation 2 is the largest of the grid, so that the best one may lie beyond: try the setting noise-std."}},
	} {
		if got := gp.EndOfGrid("noise", c.v, c.lo, c.hi, "the setting noise-std"); !slices.Equal(got, c.want) {
			t.Errorf("%g from %g to %g: %q, want %q", c.v, c.lo, c.hi, got, c.want)
		}
	}
}
