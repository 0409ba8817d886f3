package sfr

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/small"
	"gorgonia.org/tensor"
)

// TestErrors: settings that contradict each other or the problem are named.
func TestErrors(t *testing.T) {
	numbers, classes := small.Problem(t, 5, tensor.Float64, 20, 4, 1, false), small.Problem(t, 5, tensor.Float64, 20, 4, 2, true)
	without := numbers
	without.Validation = nil
	for want, c := range map[string]struct {
		p gp.Problem
		s Settings
	}{
		"points: expected an integer at least 1":                {numbers, Settings{Points: -1}},
		"clip 0.1 without classes":                              {numbers, Settings{Clip: 0.1}},
		"clip 0.1 with joint outputs":                           {classes, Settings{Clip: 0.1, Outputs: "joint"}},
		"noise-std 0.2 with classes":                            {classes, Settings{NoiseStd: 0.2}},
		"prior-std 1, delta 0 and a prior-grid of 2":            {numbers, Settings{PriorStd: 1, PriorGrid: []float64{1, 2}}},
		"prior-std 1, delta 0.1 and a prior-grid of 0":          {numbers, Settings{PriorStd: 1, Delta: 0.1}},
		"no validation rows, on which":                          {without, Settings{}},
		"outputs: expected one of separate, joint":              {numbers, Settings{Outputs: "all"}},
		"clip: expected a number at least 0, below 0.5":         {classes, Settings{Clip: 0.5}},
		"delta: expected a number above 0":                      {classes, Settings{Delta: -1}},
		"prior-grid: expected a number above 0":                 {classes, Settings{PriorGrid: []float64{0}}},
		`noise-std: expected a number above 0, found "-1"`:      {numbers, Settings{NoiseStd: -1}},
		`prior-std: expected a number above 0, found "-1"`:      {numbers, Settings{PriorStd: -1}},
		"prior-std 0, delta 0.1 and a prior-grid of 1, expecte": {numbers, Settings{Delta: 0.1, PriorGrid: []float64{2}}},
	} {
		f, err := c.s.Fit(t.Context(), c.p, gp.Run{})
		if !errors.Is(err, settings.ErrSetting) || !strings.Contains(err.Error(), want) || f != nil {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestLabels: the mean, the number of points and the form.
func TestLabels(t *testing.T) {
	for want, s := range map[string]Settings{
		"SFR-NN 200": {}, "SFR 50": {Points: 50, OwnMean: true}, "SFR-NN 20, joint": {Points: 20, Outputs: "joint"},
	} {
		if got := s.Label(); got != want {
			t.Errorf("label %q, want %q", got, want)
		}
	}
}

// TestFoundOnValidation: the candidate that a fit chooses is the best of fits with each of
// them given.
func TestFoundOnValidation(t *testing.T) {
	p := small.Problem(t, 9, tensor.Float64, 60, 6, 2, false)
	for _, own := range []bool{false, true} {
		small.FoundOnValidation(t, p, func(grid []float64, prior, noise float64) gp.Settings {
			return &Settings{Points: 10, OwnMean: own, PriorGrid: grid, PriorStd: prior, NoiseStd: noise}
		})
	}
}

// TestRecord: facts, and notes on the mean, on points, and on a singular kernel.
func TestRecord(t *testing.T) {
	p := small.Problem(t, 9, tensor.Float64, 30, 3, 1, false) // 13 weights
	f := small.Fit(t, &Settings{PriorStd: 1, NoiseStd: 0.3, OwnMean: true}, p, gp.Run{})
	notes := strings.Join(f.Record.Notes, " ")
	for _, want := range []string{"30 points instead of 200", "kernel among the points is singular"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes %q, want %q", notes, want)
		}
	}
	if e := small.Fact(f, "effective parameters"); !(e > 0 && e < 13.001) || !f.Record.Untouched || f.Record.Rows != 30 || !(small.Fact(f, "jitter") > 0) {
		t.Errorf("record %+v", f.Record)
	}
	if f = small.Fit(t, &Settings{PriorGrid: []float64{0.5, 1}, Points: 5}, p, gp.Run{}); f.Record.Untouched {
		t.Fatalf("record %+v", f)
	}
	if notes := strings.Join(f.Record.Notes, " "); !strings.Contains(notes, "is at an end of prior-grid") || strings.Contains(notes, "singular") {
		t.Errorf("notes %q", notes)
	}
}

func TestEndOfNoises(t *testing.T) {
	p := small.Problem(t, 9, tensor.Float64, 60, 6, 1, false)
	small.EndOfNoises(t, p, &Settings{PriorStd: 1, Points: 20}, &Settings{PriorStd: 1, Points: 20, NoiseStd: 1})
}

// TestSamePoint: rows that are there twice make K_z singular, which is noted, and predictions
// are those without the repetition.
func TestSamePoint(t *testing.T) {
	p := small.Problem(t, 11, tensor.Float64, 30, 8, 1, false)
	s := Settings{PriorStd: 1, NoiseStd: 0.3, OwnMean: true}
	mean, cov := small.Moments(t, fitted(t, p, s, firstRows(p, 6)), p.Validation.X)
	twice := p.Train.Rows([]int{0, 1, 2, 3, 4, 5, 0, 3}).X
	mean2, cov2 := small.Moments(t, fitted(t, p, s, twice), p.Validation.X)
	for i := range mean {
		if math.Abs(mean[i]-mean2[i]) > 1e-5 || math.Abs(cov[i]-cov2[i]) > 1e-5 {
			t.Errorf("input %d: %g with variance %g, want %g with %g", i, mean2[i], cov2[i], mean[i], cov[i])
		}
	}
}
