package laplace

import (
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"gorgonia.org/tensor"
)

// TestNoteOnTheEndOfAGrid: a standard deviation at the end of a grid is said to be there.
func TestNoteOnTheEndOfAGrid(t *testing.T) {
	s := &Settings{Hyper: hyperGrid}
	p := gp.Problem{Likelihood: likelihood.NewGaussian(0.04, tensor.Float64), Validation: new(gp.Examples)}
	q := newProblem(t, 3, tensor.Float64, 20, 8, 1).fit(t, options{PriorStd: 1, NoiseStd: 0.2})
	for _, c := range []struct {
		prior, noise float64
		want         []string
	}{
		{1, 0.2, nil},
		{0.01, 0.2, []string{"The prior standard deviation 0.01 is the smallest of the grid", "hyper=fixed with the setting prior-std"}},
		{100, 0.2, []string{"The prior standard deviation 100 is the largest of the grid"}},
		{1, 0.05, []string{"The noise standard deviation 0.05 is the smallest of the grid", "hyper=fixed with the setting noise-std"}},
		{1, 0.8, []string{"The noise standard deviation 0.8 is the largest of the grid"}},
	} {
		notes := strings.Join(s.notes(p, at(t, q, c.prior, c.noise)), "\n")
		if (notes == "") != (c.want == nil) {
			t.Errorf("at %g and %g: notes %q", c.prior, c.noise, notes)
		}
		for _, w := range c.want {
			if !strings.Contains(notes, w) {
				t.Errorf("at %g and %g: notes %q, want %q in them", c.prior, c.noise, notes, w)
			}
		}
	}
	s.NoiseStd = 0.05 // given, not found
	if notes := s.notes(p, at(t, q, 1, 0.05)); notes != nil {
		t.Errorf("of a noise that was given: %q", notes)
	}
	if notes := (&Settings{Hyper: hyperFixed}).notes(p, at(t, q, 100, 0.8)); notes != nil {
		t.Errorf("without a grid: %q", notes)
	}
}
