package likelihood_test

import (
	"math"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
)

// TestFarTails: quantiles of probabilities far below the spacing of numbers at 1 are finite and ascend, and no level and no number
// gives NaN.
func TestFarTails(t *testing.T) {
	if z := (likelihood.Normal{Mu: 1, Sigma: 2}).Quantile(1e-17); math.Abs(z-(1-2*8.493793224109598)) > 1e-12 {
		t.Errorf("quantile %.15g of a Gaussian", z)
	}
	for name, columns := range map[string][]float64{"mixture": {0, 1, -2, 3}, "student-t": {0, 1, -2, 3}, "gaussian": {0, 1, -2, 3}} {
		settings, err := likelihood.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		model, err := settings.Start(1, columns)
		if err != nil {
			t.Fatal(err)
		}
		d, last := model.Predict(0, 1, 0.5), math.Inf(-1)
		for _, p := range []float64{1e-17, 5e-17, 1e-16, 1e-9, 0.5, 1 - 1e-16} {
			q := d.Quantile(p)
			if !(q > last) || math.IsInf(q, 0) && p < 0.5 {
				t.Errorf("%s: quantile %g of %g after %g", name, q, p, last)
			}
			last = q
		}
		if q := d.Quantile(1); !math.IsInf(q, 1) {
			t.Errorf("%s: quantile %g of 1", name, q)
		}
	}
	for name, model := range countModels {
		d := likelihood.Each(model).Predict(0, 3, 0.5)
		if p := d.CDF(1e300); p != 1 {
			t.Errorf("%s: P(Y ≤ 1e300) = %g", name, p)
		}
	}
}
