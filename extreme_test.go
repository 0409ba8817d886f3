package valla

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/internal/dense"
)

// TestExtremeInput: each method fits rows with one input far outside, and says so, or the error names the input.
func TestExtremeInput(t *testing.T) {
	m, set := trained(t)
	const where = `row 3 (counting from 0), feature "b": the input 1e+12 lies `
	for _, how := range method.All() {
		if slices.Contains([]string{"own", "toy", "blind"}, how.Name) {
			continue // methods that tests have registered
		}
		far := set.Rows(dense.Indices(60))
		far.X.Float64s()[7] = 1e12
		f, err := m.Fit(t.Context(), far, FitOptions{Settings: quickSettings(t, how)})
		switch {
		case err != nil:
			oneLine(t, err, "fit: "+where, "leave this row out, or bound the column")
		case !strings.Contains(strings.Join(f.lastFit().Notes, " "), where):
			t.Errorf("%s: notes %q", how.Name, f.lastFit().Notes)
		}
	}
	far := set.Rows(dense.Indices(60))
	far.X.Float64s()[7] = 1e12
	err := m.explainExtreme(far, ErrFormat)
	oneLine(t, err, where, "leave this row out, or bound the column")
	if !errors.Is(err, ErrFormat) {
		t.Errorf("%v does not wrap the error of the fit", err)
	}
	if got := m.explainExtreme(set, ErrFormat); got != ErrFormat {
		t.Errorf("error without an extreme input: %v", got)
	}
}

// TestOutlierNotes: a training names the feature that one row far outside flattens, and no other.
func TestOutlierNotes(t *testing.T) {
	m, set := trained(t)
	if notes := m.outlierNotes(set); notes != nil {
		t.Errorf("notes %q without an outlier", notes)
	}
	far := set.Rows(dense.Indices(set.N()))
	far.X.Float64s()[2*17+1] = -1e6
	for _, held := range []float64{0, 0.2} { // the row has its number, whatever rows are held out
		o := quickTrain()
		o.Training.Validation = &held
		got, err := Train(t.Context(), far, o)
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(got.History[0].Notes, " ")
		if strings.Count(notes, "the scaled feature hardly varies") != 1 || !strings.Contains(notes, `Row 17 (counting from 0), feature "b": the input -1e+06 lies `) {
			t.Errorf("%g held out: notes %q", held, notes)
		}
	}
}
