package valla

import (
	"math"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// stdError is the mean absolute difference of standard deviations, as a fraction of
// the mean one wanted.
func stdError(got, want []float64) float64 {
	diff, sum := 0.0, 0.0
	for i := range got {
		diff += math.Abs(math.Sqrt(got[i]) - math.Sqrt(want[i]))
		sum += math.Sqrt(want[i])
	}
	return diff / sum
}

// TestFixtureApproachesExact: on the one-dimensional toy, with the hyper-parameters
// of exact LLA, the fitted standard deviation comes nearer to LLA's with more
// inducing points, and within a tenth of it with 20, by either fit.
func TestFixtureApproachesExact(t *testing.T) {
	a := fixture.Load(t, "lla_exact")
	x, y := a.Dense(t, "X"), a.Dense(t, "y")
	cosine := func() train.Config {
		return train.Config{Iterations: 1000, Optimizer: &train.Adam{LR: 2e-2}, Schedule: train.Cosine(0)}
	}
	for name, fit := range map[string]func(layers.Network, *Layer, likelihood.Gaussian) error{
		"adam": func(net layers.Network, l *Layer, lik likelihood.Gaussian) error {
			_, err := adamFit{Net: net, Layer: l, Likelihood: lik, Alpha: new(0.0), FixPrior: true, FixLikelihood: true, Seed: 1, Config: cosine()}.Run(ctx, x, y)
			return err
		},
		"natural": func(net layers.Network, l *Layer, lik likelihood.Gaussian) error {
			_, err := naturalFit{Net: net, Layer: l, Likelihood: lik, Alpha: new(0.0), FixPrior: true, FixLikelihood: true, Seed: 1, Config: cosine()}.Run(ctx, x, y)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { approach(t, a, fit) })
	}
}

func approach(t *testing.T, a fixture.Arrays, fit func(layers.Network, *Layer, likelihood.Gaussian) error) {
	want := a.Floats(t, "var_exact")
	last := math.Inf(1)
	for _, m := range []int{5, 10, 20} {
		exact, net, noise := exactLayer(t, a, "X")
		l := greedyLayer(t, net, a.Dense(t, "X"), m)
		l.LogPriorStd = exact.LogPriorStd
		if _, err := l.OptimalA(ctx, a.Dense(t, "X"), noise); err != nil {
			t.Fatal(err)
		}
		start := stdError(variances(t, net, l, a.Dense(t, "grid")), want)
		if err := fit(net, l, likelihood.NewGaussian(noise, tensor.Float64)); err != nil {
			t.Fatal(err)
		}
		e := stdError(variances(t, net, l, a.Dense(t, "grid")), want)
		t.Logf("M = %d: %.4f of LLA's mean standard deviation; %.4f at the start", m, e, start)
		if e >= last {
			t.Errorf("M = %d: the difference %g is not below %g, that of fewer points", m, e, last)
		}
		last = e
	}
	if last > 0.1 {
		t.Errorf("M = 20: the difference is %g of LLA's mean standard deviation, want at most 0.1", last)
	}
}
