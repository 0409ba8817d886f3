package ella

import (
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
)

// variants are settings that reach every choice of points, standard deviations and states.
func variants() map[string]func(gp.Problem) gp.Settings {
	return small.Variants(map[string]Settings{
		"defaults":                    {},
		"few points, fixed":           {Points: 10, Rank: 4, PriorStd: 0.7},
		"early stopping":              {Points: 12, Rank: 3, PriorStd: 2, EarlyStopping: true, CheckEvery: 7},
		"early stopping with a grid":  {Points: 12, Rank: 12, PriorGrid: []float64{0.1, 1, 10}, EarlyStopping: true, CheckEvery: 5},
		"classes: labels, balanced":   {Points: 9, Rank: 5, PointOutput: "label", Balanced: true},
		"numbers: the noise is given": {Points: 9, Rank: 5, NoiseStd: 0.4},
	}, func(p gp.Problem, s Settings) bool {
		return (likelihood.IsClass(p.Likelihood) || !s.Balanced) && (likelihood.Noisy(p.Likelihood) || s.NoiseStd == 0)
	})
}

// TestMethod: what package gp asks of a method. The covariance is at most the prior's,
// because the features belong to orthonormal directions.
func TestMethod(t *testing.T) {
	gptest.CheckMethod(t, gptest.MethodCase{Method: Method, Variants: variants(), Case: func(p gp.Problem, f *gp.Fitted, c *gptest.Case) {
		q := f.Posterior.(*posterior)
		c.Prior, c.PriorVariance = jacobian.NTK{Net: p.Net}, q.prior*q.prior/q.share
	}})
}
