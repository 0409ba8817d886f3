package runner

import (
	"math"
	"os"
	"slices"
	"testing"

	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/experiments/internal/spec"
	"github.com/go-valla/valla/internal/fixture"
)

// TestPublishedScores computes cells of the published tables again, of the first seed: the NLL is the published one, up to what
// another processor's rounding may change. Fits of taxis that differ in rounding alone have been seen to differ by .01. The test
// runs with VALLA_LONG and takes four minutes.
func TestPublishedScores(t *testing.T) {
	if !fixture.Long() {
		t.Skip("computes published cells again; VALLA_LONG runs it")
	}
	folder := fixture.Shared(t, "data")
	for _, c := range []struct {
		experiment string
		data       []string           // nil: all
		rows       map[string]float64 // how far the NLL may be off
	}{
		{"taxi-green", nil, map[string]float64{"VaLLA 100 natural": 0.03, "MAP": 0.001}},
		{"airline-nycflights13", nil, map[string]float64{"VaLLA 100 natural": 0.01}},
		{"mnist", nil, map[string]float64{"VaLLA 100 natural": 0.001, "LLA Diag": 0.001}},
		{"uci", []string{"boston", "concrete"}, map[string]float64{"VaLLA 100 natural": 0.02, "LLA KFAC": 0.001, "ELLA": 0.001}},
	} {
		published, err := result.ReadPublished(os.DirFS("../../results"), []string{c.experiment})
		if err != nil {
			t.Fatal(err)
		}
		e := withRows(t, c.experiment, c.rows)
		e.Scoring.Rotations = 0
		if c.data != nil {
			e.Data = c.data
		}
		compared := 0
		err = Run(t.Context(), e, Options{Data: folder, Dir: t.TempDir(), OnCell: func(got *result.Cell, _ bool) {
			tol, wanted := c.rows[got.Row]
			at := slices.IndexFunc(published, got.Repeats)
			if !wanted || at < 0 {
				return
			}
			compared++
			a, b := firstNLL(got), firstNLL(published[at])
			t.Logf("%s, %s: an NLL of %.4f, published %.4f", got.Data, got.Row, a, b)
			if !(math.Abs(a-b) <= tol) {
				t.Errorf("%s, %s: an NLL of %.4f, published %.4f", got.Data, got.Row, a, b)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if want := len(c.rows) * len(e.Data); compared != want {
			t.Errorf("%s: %d cells compared, expected %d", c.experiment, compared, want)
		}
	}
}

// firstNLL returns the NLL of a regression or, of a classification, with probit probabilities.
func firstNLL(c *result.Cell) float64 {
	if s, ok := c.Scores["probit"]; ok {
		return float64(s["NLL"])
	}
	return float64(c.Scores[""]["NLL"])
}

// withRows opens an experiment with its first seed and the rows of some labels.
func withRows(t *testing.T, name string, labels map[string]float64) *spec.Experiment {
	t.Helper()
	text, _ := spec.Text(name)
	e, err := spec.Read(name, text, "")
	if err != nil {
		t.Fatal(err)
	}
	e.Seeds = e.Seeds[:1]
	e.Methods = slices.DeleteFunc(e.Methods, func(r spec.Row) bool {
		variants, err := r.Variants()
		if err != nil {
			t.Fatal(err)
		}
		return !slices.ContainsFunc(variants, func(v spec.Variant) bool { _, in := labels[v.Label]; return in })
	})
	return e
}
