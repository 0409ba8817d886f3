package task

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/likelihood/likelihoodtest"
	"pgregory.net/rapid"
)

// everyTransform are transforms of every kind and with every kind of exponent.
var everyTransform = []Transform{
	{Log, 0}, {Log1p, 0}, {YeoJohnson, 0}, {YeoJohnson, 1e-12}, {YeoJohnson, 0.3}, {YeoJohnson, 1}, {YeoJohnson, 1.7}, {YeoJohnson, 2},
}

// TestTransformInverse: T increases, and T⁻¹(T(y)) is y up to the rounding of T(y), for y of every size.
func TestTransformInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		by := rapid.SampledFrom(everyTransform).Draw(t, "transform")
		draw := func(name string) float64 {
			y := math.Pow(10, rapid.Float64Range(-300, 300).Draw(t, name))
			if by.Name == YeoJohnson && rapid.Bool().Draw(t, name+" below 0") {
				y = -y
			}
			return y
		}
		y, z := draw("y"), draw("z")
		u, v := by.Apply(y), by.Apply(z)
		if y < z && u > v || y > z && u < v {
			t.Fatalf("%v does not increase: T(%g) = %g, T(%g) = %g", by, y, u, z, v)
		}
		if math.IsInf(u, 0) {
			return // Examples refuses it
		}
		// An error ε of u is an error ε dy/du of y.
		tolerance := 4e-16*math.Abs(u)*math.Exp(-by.LogSlope(y)) + 4e-14*math.Abs(y)
		if back := by.Invert(u); !(math.Abs(back-y) <= tolerance*4) {
			t.Fatalf("%v: T(%g) = %g, of which the inverse is %g", by, y, u, back)
		}
	})
}

// TestTransformInverseExtremes: every number of a network has a target.
func TestTransformInverseExtremes(t *testing.T) {
	for _, by := range everyTransform {
		last := math.Inf(-1)
		for _, u := range []float64{math.Inf(-1), -math.MaxFloat64, -1e6, -800, -1, -1e-300, 0, 5e-324, 1, 800, 1e6, math.MaxFloat64, math.Inf(1)} {
			y := by.Invert(u)
			if !(y >= last) || math.IsInf(y, 0) {
				t.Errorf("%v: the inverse of %g is %g, after %g", by, u, y, last)
			}
			last = y
		}
	}
}

// TestTransformSlope: LogSlope is the logarithm of the derivative.
func TestTransformSlope(t *testing.T) {
	for _, by := range everyTransform {
		for _, y := range []float64{-30, -2, -0.5, 0.01, 0.5, 2, 1000} {
			if by.refuses(y) != nil {
				continue
			}
			h := 1e-5 * max(1e-3, math.Abs(y))
			near(t, fmt.Sprintf("%v at %g", by, y), math.Exp(by.LogSlope(y)), (by.Apply(y+h)-by.Apply(y-h))/(2*h), 1e-6)
		}
	}
}

// TestFitTransform: the exponent of Yeo and Johnson's transform is that of the targets, and no other exponent has a
// larger likelihood.
func TestFitTransform(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, want := range []float64{0, 0.5, 1, 1.6} {
		y := make([]float64, 4000)
		for i := range y {
			y[i] = Transform{YeoJohnson, want}.Invert(1 + rng.NormFloat64())
		}
		got, err := FitTransform(YeoJohnson, y)
		if err != nil || math.Abs(got.Exponent-want) > 0.06 {
			t.Errorf("%v, error %v, want the exponent %g", got, err, want)
		}
		for _, other := range []float64{got.Exponent - 0.01, got.Exponent + 0.01} {
			if by := (Transform{YeoJohnson, other}); by.check() == nil && by.gaussianNLL(y) < got.gaussianNLL(y) {
				t.Errorf("the exponent %g is more likely than %g", other, got.Exponent)
			}
		}
	}
	// Extreme and constant targets have an exponent, too.
	for _, y := range [][]float64{{1, 1, 1}, {-1e200, 1e200, 1}, {1e-300, 2e-300, -1e-300}, {0}} {
		if got, err := FitTransform(YeoJohnson, y); err != nil || got.check() != nil {
			t.Errorf("targets %g: %v, error %v", y, got, err)
		}
	}
	_, err := FitTransform("sqrt", []float64{1})
	oneLine(t, err, `target transform "sqrt"`, "log, log1p, yeo-johnson")
}

// underlying are distributions of T(target).
func underlying(t *testing.T) map[string]likelihood.Distribution {
	t.Helper()
	mixed := &law.Law{Family: law.Mixture, Weights: []float64{0.7, 0.3}, Shifts: []float64{-0.3, 0.7}, Scales: []float64{0.5, 1.2}}
	student := &law.Law{Family: law.StudentT, DoF: 6, Scale: 0.8}
	return map[string]likelihood.Distribution{
		"Gaussian":         likelihood.Normal{Mu: 0.4, Sigma: 0.6},
		"far Gaussian":     likelihood.Normal{Mu: 5, Sigma: 0.3},
		"mixture":          inUnits{mixed, 0.2, 0.5},
		"Student's t":      inUnits{student, 0.3, 0.4},
		"another Gaussian": inUnits{likelihood.Normal{Mu: 0.1, Sigma: 0.7}, 0.5, 0.6},
	}
}

// TestTransformedDistribution: the predictive distribution of a target passes the checks of observation models. The
// exponential of Student's t has no mean.
func TestTransformedDistribution(t *testing.T) {
	for name, under := range underlying(t) {
		for _, by := range everyTransform {
			d := transformed{under, by}
			heavy := name == "Student's t" && (by.Name != YeoJohnson || by.Exponent < 0.1 || by.Exponent == 2)
			if mean := d.Mean(); math.IsNaN(mean) != heavy || heavy && !math.IsInf(d.Variance(), 1) {
				t.Errorf("%s, %v: mean %g, variance %g", name, by, mean, d.Variance())
			}
			if heavy && !math.IsInf(likelihood.CRPS(d, 1, likelihood.Number), 1) {
				t.Errorf("%s, %v: the CRPS is %g", name, by, likelihood.CRPS(d, 1, likelihood.Number))
			}
			if heavy && by.Name != YeoJohnson {
				near(t, name+", CDF of a quantile", d.CDF(d.Quantile(0.99)), 0.99, 1e-11)
				continue // a sum cannot integrate its density near its lowest value
			}
			likelihoodtest.CheckDistribution(t, fmt.Sprintf("%s, %v: ", name, by), d, likelihood.Number)
		}
	}
}
