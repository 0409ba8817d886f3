package sfr

import (
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
)

// variants are settings that reach both forms, both means and every choice of standard
// deviations.
func variants() map[string]func(gp.Problem) gp.Settings {
	return small.Variants(map[string]Settings{
		"defaults":                    {},
		"own mean, fixed":             {Points: 10, OwnMean: true, PriorStd: 0.7},
		"joint, few points":           {Points: 5, Outputs: "joint", PriorGrid: []float64{0.1, 1, 10}},
		"joint, own mean, delta":      {Points: 4, Outputs: "joint", OwnMean: true, Delta: 0.01},
		"classes: clipped":            {Points: 9, OwnMean: true, Clip: 0.1},
		"numbers: the noise is given": {Points: 9, NoiseStd: 0.4},
	}, func(p gp.Problem, s Settings) bool {
		return (likelihood.IsClass(p.Likelihood) || s.Clip == 0) && (likelihood.Noisy(p.Likelihood) || s.NoiseStd == 0)
	})
}

// TestMethod: what package gp asks of a method. The covariance is at most the prior's, of
// which separate outputs have only the diagonal; SFR's own mean is not the network's.
func TestMethod(t *testing.T) {
	gptest.CheckMethod(t, gptest.MethodCase{Method: Method, Variants: variants(), Case: func(p gp.Problem, f *gp.Fitted, c *gptest.Case) {
		q := f.Posterior.(*posterior)
		if q.joint || q.outputs == 1 {
			c.Prior, c.PriorVariance = jacobian.NTK{Net: p.Net}, q.prior*q.prior
		}
	}})
}
