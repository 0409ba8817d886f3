package likelihood_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/fixture"
	"gorgonia.org/tensor"
)

// fineMean is E g(f) for f ~ N(m, q) by the trapezoid rule with small steps.
func fineMean(g func(f float64) float64, m, q float64) float64 {
	const h = 1e-3
	sum := 0.0
	for u := -9.0; u <= 9; u += h {
		sum += h / math.Sqrt(2*math.Pi) * math.Exp(-0.5*u*u) * g(m+math.Sqrt(q)*u)
	}
	return sum
}

// TestWideLatents: far from the training rows the latent variance is large, p(y | f) is then a step, and probabilities and
// the epistemic variance still are the integrals.
func TestWideLatents(t *testing.T) {
	for name, model := range map[string]likelihood.Scalar{
		"bernoulli": likelihood.Bernoulli, "ordinal": likelihood.NewOrdinal([]float64{-1, 0.5, 2}), "poisson": likelihood.Poisson,
		"negative binomial": likelihood.NewNegativeBinomial(3),
	} {
		l, given := likelihood.Each(model), model.Given()
		for _, q := range []float64{1, 9, 100, 400, 1e4} {
			tol := 1e-4
			if q > 400 {
				tol = 0.01
			}
			for _, m := range []float64{-30, -3, 0, 8} {
				d, what := l.Predict(0, m, q), fmt.Sprintf("%s, N(%g, %g): ", name, m, q)
				for _, y := range []float64{0, 1} {
					want := fineMean(func(f float64) float64 { return math.Exp(given.LogDensity([]float64{y}, f)) }, m, q)
					fixture.Close(t, what+fmt.Sprint("probability of ", y), []float64{math.Exp(d.LogDensity(y))}, []float64{want}, tol)
				}
				for _, y := range []float64{0, 2, 1000} {
					want := fineMean(func(f float64) float64 { return given.CDF(y, f) }, m, q)
					fixture.Close(t, what+fmt.Sprint("CDF at ", y), []float64{d.CDF(y)}, []float64{want}, tol)
				}
				if model.Kind() != likelihood.Count {
					mean := fineMean(given.Mean, m, q)
					want := fineMean(func(f float64) float64 { return (given.Mean(f) - mean) * (given.Mean(f) - mean) }, m, q)
					fixture.Close(t, what+"epistemic variance", []float64{1 + likelihood.Epistemic(l, m, q)}, []float64{1 + want}, tol)
				}
			}
		}
	}
}

// TestEpistemicOfCounts: the variance of e^f, also where most of it is far out in the tail of f.
func TestEpistemicOfCounts(t *testing.T) {
	for _, model := range countModels {
		for _, q := range []float64{0, 0.1, 4, 16, 50} {
			mean := math.Exp(0.3 + q/2)
			want := mean * mean * math.Expm1(q)
			fixture.Close(t, fmt.Sprintf("%v, variance %g", model, q), []float64{likelihood.Epistemic(likelihood.Each(model), 0.3, q) / (1 + want)}, []float64{want / (1 + want)}, 1e-12)
		}
	}
}

// TestImpossibleTargets: what a model excludes, and what is beyond all numbers, has the log density −∞, with latent
// variance and without.
func TestImpossibleTargets(t *testing.T) {
	_, gauss := example(t, "gaussian", nil)
	for name, c := range map[string]struct {
		l likelihood.Likelihood
		y []float64
	}{
		"poisson": {likelihood.Each(likelihood.Poisson), []float64{-1, 1.5}}, "negative binomial": {likelihood.Each(likelihood.NewNegativeBinomial(3)), []float64{-1, 1.5}},
		"bernoulli": {likelihood.Each(likelihood.Bernoulli), []float64{-1, 0.5, 2}}, "gaussian": {gauss, []float64{-1e200, 1e200}},
		"mixture":   {likelihood.Each(likelihood.NewMixture([]float64{0.3, 0.7}, []float64{2, 0}, []float64{0.2, 1})), []float64{-1e200, 1e200}},
		"student-t": {likelihood.Each(likelihood.NewStudentT(4, 1, true, tensor.Float64)), []float64{-1e200, 1e200}},
	} {
		for _, q := range []float64{0, 1, 100} {
			d := c.l.Predict(0, 0.3, q)
			for _, y := range c.y {
				if v := d.LogDensity(y); !math.IsInf(v, -1) {
					t.Errorf("%s, variance %g: log density %g at %g", name, q, v, y)
				}
				if v := d.CDF(y); !(v >= 0 && v <= 1) {
					t.Errorf("%s, variance %g: CDF %g at %g", name, q, v, y)
				}
			}
		}
	}
	if v := likelihood.LogSumExp([]float64{math.Inf(-1), math.Inf(-1)}); !math.IsInf(v, -1) {
		t.Errorf("log of a sum of zeros is %g", v)
	}
}

// TestWideDataTerms: data terms of counts have finite slopes where points of the quadrature are beyond all numbers of
// float32, and the same as in float64.
func TestWideDataTerms(t *testing.T) {
	_, l := example(t, "poisson", nil)
	f := fixtureModel{name: "wide", y: [][]float64{{0}, {5}, {0}}, m: []float64{0, -3, 3}, q: []float64{200, 400, 1000}}
	for _, alpha := range []float64{0.5, 1} {
		got, want := f.terms(t, l, tensor.Float32, alpha), f.terms(t, l, tensor.Float64, alpha)
		for k := range got {
			fixture.Close(t, fmt.Sprintf("α = %g, [%d]", alpha, k), got[k], want[k], 1e-3)
		}
	}
}
