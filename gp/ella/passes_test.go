package ella

import (
	"fmt"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"gorgonia.org/tensor"
)

// TestPassesAreFit: the posterior of a sample, made anew from sums over parts of all rows, is the
// posterior of a fit to all rows with the same directions, with σ₀ given or chosen by rows held out.
func TestPassesAreFit(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		for _, classes := range []bool{false, true} {
			for _, search := range []bool{false, true} {
				all := small.Problem(t, 2, dt, 150, 6, 3, classes)
				var first []int
				for i := range 40 {
					first = append(first, i)
				}
				at, probe, s := pointsAt(all, first[:15], make([]int, 15)), all.Validation.X, Settings{Rank: 5, PriorGrid: gp.LogSpaced(0.01, 100, 21)}
				if !search {
					s.PriorStd, s.PriorGrid, all.Validation = 0.7, nil, nil
				}
				before := all
				before.Train = all.Train.Rows(first)
				what := fmt.Sprint(dt, ", classes ", classes, ", search ", search)
				want := fitPoints(t, all, s, at)
				mean, cov := small.Moments(t, want, probe)
				q := fitPoints(t, before, s, at)
				_, wide := small.Moments(t, q, probe)
				f, err := gptest.Passes(t.Context(), q, all.Likelihood, all.Train, 33, all.Validation)
				if err != nil {
					t.Fatal(err)
				}
				grid, searched := f.Record.Settings["prior-grid"].([]float64)
				if std, gone := f.Record.Settings["prior-std"]; searched != search || search && (len(grid) != 21 || !gone || std != nil) {
					t.Errorf("%s: settings %v", what, f.Record.Settings)
				}
				m, c := small.Moments(t, f.Posterior.(*posterior), probe)
				fixture.Close(t, what+": mean", m, mean, 0)
				fixture.Close(t, what+": covariance", c, cov, 1e-10)
				if fixture.RelErr(wide, cov) < 0.01 {
					t.Errorf("%s: 110 rows change the covariance by %g: the test shows nothing", what, fixture.RelErr(wide, cov))
				}
			}
		}
	}
}
