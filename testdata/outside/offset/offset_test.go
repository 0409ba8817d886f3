package offset_test

import (
	"testing"

	"example.com/outside/offset"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/laplace"
	"gonum.org/v1/gonum/floats"
)

// TestMethod: the method keeps the promises of package gp. Its covariance is that of LLA for the last bias alone.
func TestMethod(t *testing.T) {
	gptest.CheckMethod(t, gptest.MethodCase{Method: offset.Method, Case: func(p gp.Problem, f *gp.Fitted, _ *gptest.Case) {
		var got, want gp.Gaussian
		lla, err := (&laplace.Settings{Structure: "full", Weights: []string{p.Net.Params()[len(p.Net.Params())-1].Name}, Hyper: "fixed", PriorStd: 1}).Fit(t.Context(), p, gp.Run{})
		if err == nil {
			want, err = gp.Predict(t.Context(), lla.Posterior, p.Train.X)
		}
		if err == nil {
			got, err = gp.Predict(t.Context(), f.Posterior, p.Train.X)
		}
		if err != nil || !floats.EqualApprox(got.Cov, want.Cov, 1e-8) {
			t.Errorf("covariances %g, LLA says %g, error %v", got.Cov, want.Cov, err)
		}
	}})
}
