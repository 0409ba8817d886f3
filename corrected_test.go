package valla

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/sfr"
	vallagp "github.com/go-valla/valla/gp/valla"
)

// away returns rows of wave with targets that are larger by 5.
func away(rows int, seed uint64) *data.Set {
	set := wave(rows, seed)
	y := set.Y.Float64s()
	for i := range y {
		y[i] += 5
	}
	return set
}

// TestMeanCorrected: rows that lie away from the network give a corrected mean, which is near them; the model has the same
// predictions after a file, is exported, judged and sampled; for one network, for several, and after features.
func TestMeanCorrected(t *testing.T) {
	net, own := trained(t)
	o := quickTrain()
	o.Training.Networks = 2
	several, err := Train(t.Context(), own, o)
	if err != nil {
		t.Fatal(err)
	}
	set, fresh := away(200, 1), away(50, 2)
	for name, c := range map[string]struct {
		m *Model
		s gp.Settings
	}{
		"valla": {net, &vallagp.Settings{Inducing: 8, Iterations: 30}}, "kfac": {net, &laplace.Settings{Structure: "kfac"}},
		"last layer": {net, &laplace.Settings{Weights: []string{"last-layer"}}}, "sfr": {net, &sfr.Settings{Points: 20}},
		"several": {several, &sfr.Settings{Points: 20}},
	} {
		m := fit(t, c.m, set, FitOptions{Settings: c.s, Mean: MeanCorrected, Law: "gaussian"})
		again := loaded(t, written(t, m))
		p := predict(t, m, fresh.X)
		if !slices.Equal(numbers(p), numbers(predict(t, again, fresh.X))) || !strings.HasSuffix(again.String(), ", corrected mean") {
			t.Errorf("%s: %v predicts otherwise after a file", name, again)
		}
		square := 0.0
		for i, y := range fresh.Y.Float64s() {
			square += (y - p.Mean[i]) * (y - p.Mean[i]) / 50
		}
		if square > 1 { // the network's is 25
			t.Errorf("%s: mean squared error %g", name, square)
		}
		if _, err := again.Export(t.Context(), filepath.Join(t.TempDir(), "net.onnx"), ExportOptions{Rows: fresh.X}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		e := m.History[len(m.History)-1]
		if e.Verdict == nil || !e.Verdict.Clearly() || !slices.Contains(e.Notes, "Predictions have a corrected mean, which is not the network's output.") {
			t.Errorf("%s: verdict %+v, notes %q", name, e.Verdict, e.Notes)
		}
	}
}

// TestCorrectable: a fit beside which a corrected mean would be much better says so, from a sample of its rows where there are many.
func TestCorrectable(t *testing.T) {
	net, _ := trained(t)
	for _, rows := range []int{200, correctableRows + 1000} {
		m := fit(t, net, away(rows, 1), FitOptions{Settings: &vallagp.Settings{Inducing: 8, Iterations: 10}, Law: "gaussian"})
		notes := m.History[len(m.History)-1].Notes
		if !slices.ContainsFunc(notes, func(s string) bool { return strings.HasPrefix(s, "With a corrected mean") }) {
			t.Errorf("%d rows: notes %q", rows, notes)
		}
	}
}

// TestMeanCorrectedUpdate: rows can be added to the mean and to the covariance of SFR.
func TestMeanCorrectedUpdate(t *testing.T) {
	net, _ := trained(t)
	set, fresh := away(200, 1), away(50, 2)
	m := fit(t, net, set, FitOptions{Settings: &sfr.Settings{Points: 20}, Mean: MeanCorrected, Law: "gaussian"})
	more, err := m.Update(t.Context(), away(400, 3), gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	before, after := predict(t, m, fresh.X), predict(t, loaded(t, written(t, more)), fresh.X)
	moved := 0.0
	for i := range before.Mean {
		moved = max(moved, math.Abs(after.Mean[i]-before.Mean[i]))
		if after.Latent[i] > before.Latent[i] {
			t.Fatalf("row %d: variance %g after more rows, %g before", i, after.Latent[i], before.Latent[i])
		}
	}
	if moved < 1e-6 || more.Posterior.Stored.(gp.OwnMean).OwnMean() == "" {
		t.Errorf("the mean moved by %g", moved)
	}
}

// TestMeanCorrectedErrors: what cannot have a corrected mean is refused in one line.
func TestMeanCorrectedErrors(t *testing.T) {
	net, set := trained(t)
	_, err := net.Fit(t.Context(), set, FitOptions{Mean: "own"})
	oneLine(t, err, `mean "own"`, `expected "network" or "corrected"`)
	_, err = net.Fit(t.Context(), set, FitOptions{Settings: &laplace.Settings{PriorStd: 1}, Mean: MeanCorrected, Validation: new(0.0)})
	oneLine(t, err, "a corrected mean needs held-out rows")
}
