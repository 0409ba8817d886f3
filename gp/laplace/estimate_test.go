package laplace

import (
	"context"
	"errors"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
)

// TestEstimate: every structure has one, for every problem that it can be fitted to; its bytes are
// within the limit that the fit keeps, and less memory than that refuses both.
func TestEstimate(t *testing.T) {
	problems, err := gptest.Problems()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		for _, s := range []gp.Settings{
			&Settings{Structure: "full"}, &Settings{Structure: "kfac"}, &Settings{Structure: "diag", Hyper: "grid"},
			&Settings{Structure: "lowrank"}, &Settings{Structure: "full", Weights: []string{"last-layer"}, Priors: "per-layer"}, &SubsetSettings{Points: 5},
		} {
			if _, err := s.Fit(t.Context(), p.Problem, gp.Run{}); err != nil {
				continue // this method does not go with this problem
			}
			e, err := s.(gp.Estimator).Estimate(t.Context(), p.Problem, gp.Run{})
			if err != nil || !(e.Seconds > 0) || e.Bytes < 100 {
				t.Errorf("%s, %+v: %+v, error %v", p.Name, s, e, err)
			}
			if _, err := s.(gp.Estimator).Estimate(t.Context(), p.Problem, gp.Run{Memory: e.Bytes / 2}); err == nil {
				if _, err := s.Fit(t.Context(), p.Problem, gp.Run{Memory: e.Bytes / 2}); err == nil {
					t.Errorf("%s, %+v: half of %d bytes suffices", p.Name, s, e.Bytes)
				}
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := s.(gp.Estimator).Estimate(ended, p.Problem, gp.Run{}); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, %+v: error %v", p.Name, s, err)
			}
		}
	}
}
