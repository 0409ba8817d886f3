package likelihood_test

import (
	"math"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
)

// TestOutcomes: the density of a seen outcome at its target, in the units of the target, is the predictive density.
func TestOutcomes(t *testing.T) {
	const mean, q = 0.3, 0.2
	for _, c := range []struct {
		name, setting string
		y             []float64
	}{
		{"poisson", "exposure", []float64{3, 2.5}},
		{"negative-binomial", "exposure", []float64{0, 0.5}},
		{"heteroscedastic", "tails=gaussian", []float64{1.2, -0.4}},
		{"heteroscedastic", "tails=student-t", []float64{-2, 0.7}},
		{"censored", "", []float64{0.8, 0.8}},
	} {
		var of []string
		if c.setting != "" {
			of = []string{c.setting}
		}
		s, err := likelihood.Named(c.name, of...)
		if err != nil {
			t.Fatal(err)
		}
		l, err := s.Start(1, nil)
		if err != nil {
			t.Fatal(err)
		}
		o := likelihood.OutcomeOf(l, 0, c.y, mean, q)
		got := o.LogDensity(c.y[0]/o.Scale) - math.Log(o.Scale)
		if want := l.LogPredictive(c.y, []float64{mean}, []float64{q}); math.Abs(got-want) > 1e-8 || o.Lower != c.y[0] || o.Upper != c.y[0] {
			t.Errorf("%s %s: density %v, expected %v; bounds %v and %v", c.name, c.setting, got, want, o.Lower, o.Upper)
		}
	}
}

// TestCRPSBetween compares the CRPS of bounds with sums, and that of equal bounds with the CRPS.
func TestCRPSBetween(t *testing.T) {
	n := likelihood.Normal{Mu: 0.4, Sigma: 1.3}
	const h = 0.001
	for _, b := range [][2]float64{{-1, 2}, {0.7, math.Inf(1)}, {math.Inf(-1), -0.2}, {5, math.Inf(1)}} {
		want := 0.0
		for v := -12 + h/2; v < 12; v += h {
			r := n.CDF(v)
			switch {
			case v < b[0]:
				want += r * r * h
			case v > b[1]:
				want += (1 - r) * (1 - r) * h
			}
		}
		if got := likelihood.CRPSBetween(n, b[0], b[1], likelihood.Number); math.Abs(got-want) > 1e-6 {
			t.Errorf("bounds %v: %v, expected %v", b, got, want)
		}
	}
	near := likelihood.CRPSBetween(n, 1, math.Nextafter(1, 2), likelihood.Number)
	if want := likelihood.CRPSBetween(n, 1, 1, likelihood.Number); math.Abs(near-want) > 1e-12 {
		t.Errorf("bounds that nearly meet: %v, expected %v", near, want)
	}
}
