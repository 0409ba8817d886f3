package likelihood_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/settings"
)

// TestCensoredCurvature: the curvature of the log density of an interval lies between 0 and 1/σ², which Curvature states. It
// reaches 1/σ² where the interval is narrow or far above the function, and 0 where the interval holds nearly all values.
func TestCensoredCurvature(t *testing.T) {
	const sigma, step = 0.7, 1e-4
	given, open := likelihood.NewCensored(sigma).Given(), likelihood.Open
	most := given.Curvature(0) * sigma * sigma
	fixture.Close(t, "σ²Λ", []float64{most}, []float64{1}, 1e-12)
	for _, c := range []struct {
		y         []float64
		low, high float64 // of −σ² ∂² log p/∂f²
	}{
		{[]float64{0.3, 0.3}, 1, 1}, {[]float64{0.3, 0.301}, 0.999, 1}, {[]float64{-1, 1}, 0.1, 0.9}, {[]float64{0, open}, 0.3, 0.9},
		{[]float64{20, open}, 0.99, 1}, {[]float64{-open, -20}, 0.99, 1}, {[]float64{-20, open}, 0, 1e-9}, {[]float64{-20, 20}, 0, 1e-9},
	} {
		curvature := -sigma * sigma * (given.Slope(c.y, step) - given.Slope(c.y, -step)) / (2 * step)
		if !(curvature >= c.low-1e-5 && curvature <= c.high+1e-5) {
			t.Errorf("bounds %v: σ² times the curvature is %g, expected %g to %g", c.y, curvature, c.low, c.high)
		}
	}
}

// TestRescale: numbers in the units of the target are rescaled, and open bounds, scales and exposures are not.
func TestRescale(t *testing.T) {
	_, numbers := example(t, "student-t", nil)
	_, scaled := example(t, "heteroscedastic", nil)
	open := likelihood.Open
	for _, c := range []struct {
		l       likelihood.Likelihood
		y, want []float64
		density bool
	}{
		{numbers, []float64{2}, []float64{21}, true}, {scaled, []float64{2, 0.5}, []float64{21, 0.5}, true},
		{likelihood.Each(likelihood.NewCensored(1)), []float64{2, 2}, []float64{21, 21}, true},
		{likelihood.Each(likelihood.NewCensored(1)), []float64{-open, 3}, []float64{-open, 31}, false},
		{likelihood.Each(likelihood.NewCensored(1)), []float64{2, open}, []float64{21, open}, false},
		{likelihood.Each(likelihood.Poisson), []float64{2, 5}, []float64{21, 5}, false},
	} {
		y := slices.Clone(c.y)
		if density := likelihood.Rescale(c.l, y, func(v float64) float64 { return 10*v + 1 }); density != c.density || !slices.Equal(y, c.want) {
			t.Errorf("%v: %v becomes %v with density %t, expected %v with %t", c.l, c.y, y, density, c.want, c.density)
		}
	}
}

// TestEpistemic: the part of the variance that more data take away, and the mean of the variance given f, are the variance.
func TestEpistemic(t *testing.T) {
	const mean, variance = 0.4, 0.3
	for name, model := range map[string]likelihood.Scalar{
		"bernoulli": likelihood.Bernoulli, "poisson": likelihood.Poisson, "negative binomial": likelihood.NewNegativeBinomial(3),
		"ordinal": likelihood.NewOrdinal([]float64{-1, 0.5, 2}),
	} {
		l, given := likelihood.Each(model), model.Given()
		noise, total := 0.0, 0.0
		for u := -8.0; u <= 8; u += 0.01 {
			w := math.Exp(-0.5 * u * u)
			noise, total = noise+w*given.Variance(mean+math.Sqrt(variance)*u), total+w
		}
		got := likelihood.Epistemic(l, mean, variance) + noise/total
		fixture.Close(t, name, []float64{got}, []float64{l.Predict(0, mean, variance).Variance()}, 1e-8)
	}
	if v := likelihood.Epistemic(likelihood.Each(likelihood.NewCensored(2)), mean, variance); v != variance {
		t.Errorf("with noise the latent variance %g is %g", variance, v)
	}
}

// TestDistributions: quantiles invert the CDF, and draws have the quantiles, for all models.
func TestDistributions(t *testing.T) {
	const many = 4000
	for name, model := range map[string]likelihood.Scalar{
		"bernoulli": likelihood.Bernoulli, "poisson": likelihood.Poisson, "negative binomial": likelihood.NewNegativeBinomial(3),
		"ordinal": likelihood.NewOrdinal([]float64{-1, 0.5, 2}), "censored": likelihood.NewCensored(0.6),
		"mixture": likelihood.NewMixture([]float64{0.3, 0.7}, []float64{2, 0}, []float64{0.2, 1}),
	} {
		d, rng := likelihood.Each(model).Predict(0, 0.8, 0.5), rand.New(rand.NewPCG(4, 2))
		draws := make([]float64, many)
		for i := range draws {
			draws[i] = d.Draw(rng)
		}
		for _, p := range []float64{0.03, 0.4, 0.95} {
			q := d.Quantile(p)
			below := 0.0
			for _, v := range draws {
				if v <= q {
					below += 1.0 / many
				}
			}
			whole := model.Kind() != likelihood.Number
			if cdf := d.CDF(q); !(cdf >= p-1e-9) || !whole && cdf > p+1e-9 || whole && q > 0 && !(d.CDF(q-1) < p) {
				t.Errorf("%s: the quantile of %g is %g with the CDF %g", name, p, q, cdf)
			}
			if math.Abs(below-d.CDF(q)) > 0.035 {
				t.Errorf("%s: %.3f of the draws are at most %g, expected %.3f", name, below, q, d.CDF(q))
			}
		}
	}
}

// TestNamed: settings by name, and the errors for words that are none.
func TestNamed(t *testing.T) {
	s, err := likelihood.Named("poisson", "exposure")
	if err != nil || settings.Map(s)["exposure"] != true {
		t.Errorf("settings %v, error %v", s, err)
	}
	for words, want := range map[string]string{
		"gamma": "expected one of gaussian", "mixture humps=2": `setting "humps", expected one of`, "mixture parts=0": "parts", "student-t nu": "nu",
	} {
		w := strings.Fields(words)
		if _, err := likelihood.Named(w[0], w[1:]...); !errors.Is(err, settings.ErrSetting) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: error %v, want %q", words, err, want)
		}
	}
}
