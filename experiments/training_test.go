package experiments

import (
	"fmt"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data/sets"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
)

// TestTraining compares networks whose training rows choose the steps and the weight decay with networks of 5,000 steps
// and the weight decay 0.001, on the UCI tables. It prints the rows of the table in docs/training.md, and runs
// with VALLA_LONG.
func TestTraining(t *testing.T) {
	if !fixture.Long() {
		t.Skipf("skipped without %s", fixture.LongVariable)
	}
	for _, name := range []string{"yacht", "boston", "energy", "concrete", "kin8nm", "power"} {
		set, err := sets.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		var scores [2][3][]float64 // of both trainings: RMSE, NLL, and NLL after a fit
		for seed := range uint64(3) {
			p, err := set.Table(fixture.Shared(t, "data"), seed)
			if err != nil {
				t.Fatal(err)
			}
			for i, how := range []valla.Training{{Iterations: 5000}, {}} {
				for k, v := range trainedScores(t, p, valla.TrainOptions{Training: how, Seed: seed}) {
					scores[i][k] = append(scores[i][k], v)
				}
			}
		}
		line := "| " + name + " |"
		for k, of := range scores[0] {
			mean, standard := kernel.MeanDifference(scores[1][k], of)
			line += fmt.Sprintf(" %.4g | %.4g | %.2g ± %.2g |", kernel.Mean(of), kernel.Mean(scores[1][k]), mean, standard)
			if k < 2 && mean > 2*standard {
				t.Errorf("%s: score %d is worse by %.3g ± %.2g", name, k, mean, standard)
			}
		}
		fmt.Println(line)
	}
}

// trainedScores returns the RMSE and the NLL of test rows by a network alone, and the NLL after the default fit.
func trainedScores(t *testing.T, p *sets.Parts, o valla.TrainOptions) [3]float64 {
	t.Helper()
	m, err := valla.Train(t.Context(), p.Train, o)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := m.Evaluate(t.Context(), p.Test, valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if m, err = m.Fit(t.Context(), p.Train, valla.FitOptions{Run: gp.Run{Seed: o.Seed}}); err != nil {
		t.Fatal(err)
	}
	fitted, err := m.Evaluate(t.Context(), p.Test, valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rmse, _ := alone.Get("RMSE")
	return [3]float64{rmse, alone.NLL(), fitted.NLL()}
}
