package ella

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"gorgonia.org/tensor"
)

// TestUpdateIsFit: rows that are added later count as if they had been there.
func TestUpdateIsFit(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		for _, classes := range []bool{false, true} {
			all := small.Problem(t, 2, dt, 150, 6, 3, classes)
			var first, rest []int
			for i := range 150 {
				if i < 40 {
					first = append(first, i)
				} else {
					rest = append(rest, i)
				}
			}
			at, probe, s := pointsAt(all, first[:15], make([]int, 15)), all.Validation.X, Settings{Rank: 5, PriorStd: 0.7}
			all.Validation = nil // the noise is not to be found again
			before, later := all, all
			before.Train, later.Train = all.Train.Rows(first), all.Train.Rows(rest)
			what := fmt.Sprint(dt, ", classes ", classes)
			mean, cov := small.Moments(t, fitPoints(t, all, s, at), probe)
			q := fitPoints(t, before, s, at)
			_, wide := small.Moments(t, q, probe)
			u, err := q.Update(t.Context(), later, gp.Run{})
			if err != nil {
				t.Fatal(err)
			}
			m, c := small.Moments(t, u, probe)
			fixture.Close(t, what+": mean", m, mean, 0)
			fixture.Close(t, what+": covariance", c, cov, 1e-10)
			if fixture.RelErr(wide, cov) < 0.1 {
				t.Errorf("%s: 110 rows change the covariance by %g: the test shows nothing", what, fixture.RelErr(wide, cov))
			}
		}
	}
}

// TestUpdateOfEarlyStopping: a prior in proportion to the rows seen is refused.
func TestUpdateOfEarlyStopping(t *testing.T) {
	p, q, _ := saved(t, tensor.Float64)
	u, err := q.Update(t.Context(), p, gp.Run{})
	if err == nil || !strings.Contains(err.Error(), "early stopping has seen") || u != nil {
		t.Errorf("posterior %v, error %v", u, err)
	}
}
