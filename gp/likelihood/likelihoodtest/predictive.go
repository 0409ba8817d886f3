package likelihoodtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
)

// checkCurvature: Λ is positive semi-definite, and the diagonal is E (∂ log p/∂f)², which equals −E ∂² log p.
func checkCurvature(t *testing.T, c Case, s *sample) {
	n := s.c
	lambda, slope := make([]float64, n*n), make([]float64, n)
	for i := range s.n {
		_, f, _ := s.row(i)
		c.Likelihood.Curvature(lambda, f)
		for k := range f {
			if !(lambda[k*n+k] >= 0) {
				t.Errorf("Λ has the diagonal element %g", lambda[k*n+k])
			}
		}
		if likelihood.IsClass(c.Likelihood) {
			want := make([]float64, n)
			for class := range n {
				y := make([]float64, n)
				y[class] = 1
				c.Likelihood.Gradient(slope, y, f)
				for k, v := range slope {
					want[k] += math.Exp(c.Likelihood.LogDensity(y, f)) * v * v
				}
			}
			near(t, "Λ", []float64{lambda[0], lambda[n+1]}, want[:2], 1e-9)
			continue
		}
		d, one := c.Likelihood.Predict(0, f[0], 0), make([]float64, 1)
		want := expect(d, c.Likelihood.Kind(), func(y float64) float64 {
			c.Likelihood.Gradient(one, c.Target(y), f[:1])
			return one[0] * one[0]
		})
		near(t, "Λ", lambda[:1], []float64{want}, 1e-7)
	}
}

// checkPredictive: masses sum to 1, the CDF is the sum of the density, quantiles invert the CDF, and mean, variance
// and density are those of the CDF; the network's own mean is that of symmetric noise.
func checkPredictive(t *testing.T, c Case, s *sample) {
	if likelihood.IsClass(c.Likelihood) {
		if d := c.Likelihood.Predict(0, 0, 1); d != nil {
			t.Errorf("%v for classes, expected no distribution", d)
		}
		return
	}
	kind := c.Likelihood.Kind()
	for i := range 3 {
		_, f, cov := s.row(i)
		d := c.Likelihood.Predict(0, f[0], cov[0])
		what := fmt.Sprintf("f ~ N(%.2g, %.2g): ", f[0], cov[0])
		CheckDistribution(t, what, d, kind)
		y := d.Quantile(0.7)
		near(t, what+"LogPredictive", []float64{d.LogDensity(y)}, []float64{c.Likelihood.LogPredictive(c.Target(y), f[:1], cov[:1])}, 1e-9)
	}
}

// CheckDistribution fails the test, with what in its messages, unless the masses of d sum to 1, quantiles invert the CDF,
// the CDF is the sum of the density, and mean and variance, where d has them, are the moments of the density.
func CheckDistribution(t *testing.T, what string, d likelihood.Distribution, kind likelihood.Kind) {
	t.Helper()
	near(t, what+"mass", []float64{expect(d, kind, func(float64) float64 { return 1 })}, []float64{1}, 1e-8)
	if v := d.Variance(); !math.IsInf(v, 1) {
		own, mean := d.Mean(), expect(d, kind, func(y float64) float64 { return y })
		square := expect(d, kind, func(y float64) float64 { return (y - own) * (y - own) })
		near(t, what+"mean", []float64{own}, []float64{mean}, 1e-6)
		near(t, what+"variance", []float64{v}, []float64{square}, 1e-4)
	}
	for _, p := range []float64{0.001, 0.025, 0.3, 0.5, 0.8, 0.975, 0.999} {
		checkQuantile(t, what, d, kind, p)
	}
}

// checkQuantile: the CDF at the quantile is p, for whole numbers p or more, and less than p below; density and
// CDF agree there.
func checkQuantile(t *testing.T, what string, d likelihood.Distribution, kind likelihood.Kind, p float64) {
	t.Helper()
	y := d.Quantile(p)
	if kind == likelihood.Number {
		near(t, fmt.Sprintf("%sCDF at the quantile %g", what, p), []float64{d.CDF(y)}, []float64{p}, 1e-11)
		slope := difference(func(h float64) float64 { return d.CDF(y + h) })
		near(t, what+"density", []float64{math.Exp(d.LogDensity(y))}, []float64{slope}, 1e-7)
		return
	}
	if y != math.Floor(y) || d.CDF(y) < p-1e-10 || y > 0 && d.CDF(y-1) >= p+1e-10 {
		t.Errorf("%squantile %g is %g with the CDF %g, %g below", what, p, y, d.CDF(y), d.CDF(y-1))
	}
	near(t, what+"probability", []float64{math.Exp(d.LogDensity(y))}, []float64{d.CDF(y) - d.CDF(y-1)}, 1e-9)
	near(t, what+"CDF between whole numbers", []float64{d.CDF(y + 0.5), d.CDF(-0.5)}, []float64{d.CDF(y), 0}, 1e-12)
}

// checkDraws: draws lie below quantiles as often as they should.
func checkDraws(t *testing.T, c Case, s *sample) {
	if likelihood.IsClass(c.Likelihood) {
		t.Skip("classes have no distribution of numbers")
	}
	const n = 4000
	_, f, cov := s.row(1)
	rng, d := rand.New(rand.NewPCG(3, 4)), c.Likelihood.Predict(0, f[0], cov[0])
	draws := make([]float64, n)
	for i := range draws {
		draws[i] = d.Draw(rng)
	}
	for _, p := range []float64{0.1, 0.5, 0.9} {
		y, below := d.Quantile(p), 0.0
		for _, v := range draws {
			if v <= y {
				below++
			}
		}
		if want := d.CDF(y); math.Abs(below/n-want) > 4.5*math.Sqrt(want*(1-want)/n)+1e-9 {
			t.Errorf("%g of the draws lie at or below %g, expected %g", below/n, y, want)
		}
	}
}

// expect is E g(Y): the sum over whole numbers, or the integral over v with y = median + scale·sinh v.
func expect(d likelihood.Distribution, kind likelihood.Kind, g func(y float64) float64) float64 {
	sum := 0.0
	if kind != likelihood.Number {
		for k, last := 0.0, d.Quantile(1-1e-13)+5; k <= last; k++ {
			if p := math.Exp(d.LogDensity(k)); p > 0 {
				sum += p * g(k)
			}
		}
		return sum
	}
	median, scale := d.Quantile(0.5), d.Quantile(0.75)-d.Quantile(0.25)
	const h = 1.0 / 256
	for i := -20 * 256; i <= 20*256; i++ {
		v := h * float64(i)
		y := median + scale*math.Sinh(v)
		if p := math.Exp(d.LogDensity(y)); p > 0 {
			sum += h * p * scale * math.Cosh(v) * g(y)
		}
	}
	return sum
}
