package task

import (
	"fmt"
	"math"
	"testing"

	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/likelihood"
	"gorgonia.org/tensor"
)

// TestHeavyTails: where T⁻¹ grows like u^k, Y has a mean if T(Y) has a moment of order k, and a variance if it has one of
// order 2k. Student's t has the moments below its degrees of freedom; a quadrature may end before its tail counts.
func TestHeavyTails(t *testing.T) {
	for _, dof := range []float64{3, 6, 30, 100, 1000} {
		for _, scale := range []float64{0.01, 0.2, 1} {
			student := likelihood.NewStudentT(dof, scale, true, tensor.Float64)
			for name, d := range map[string]likelihood.Distribution{
				"law":   inUnits{&law.Law{Family: law.StudentT, DoF: dof, Scale: 1}, 0.3, scale},
				"model": inUnits{likelihood.Each(student).Predict(0, 0.3, 0.01), 0, 1},
			} {
				for by, k := range map[Transform]float64{
					{Name: Log}: math.Inf(1), {Name: Log1p}: math.Inf(1), {YeoJohnson, 0}: math.Inf(1), {YeoJohnson, 2}: math.Inf(1),
					{YeoJohnson, 0.001}: 1000, {YeoJohnson, 0.1}: 10, {YeoJohnson, 1.9}: 10,
				} {
					mean, variance := by.moments(d)
					what := fmt.Sprintf("%s, %g degrees of freedom of the scale %g, %v: mean %g, variance %g", name, dof, scale, by, mean, variance)
					if dof <= k && !math.IsNaN(mean) || dof <= 2*k && !math.IsInf(variance, 1) {
						t.Errorf("%s, which do not exist", what)
					}
					if dof >= 3*k && (math.IsNaN(mean) || math.IsInf(variance, 1)) {
						t.Errorf("%s, which exist", what)
					}
				}
			}
		}
	}
}

// TestExponentialMoments: with the exponent 0 a target far above 0 is lognormal, and with 2 its mirror image is.
func TestExponentialMoments(t *testing.T) {
	for _, sigma := range []float64{0.1, 1, 1.6, 2.5, 2.9, 3.1} {
		mu := 9 * sigma
		mean := math.Exp(mu + 0.5*sigma*sigma)
		variance := mean * mean * math.Expm1(sigma*sigma)
		for exponent, sign := range map[float64]float64{0: 1, 2: -1} {
			got, spread := Transform{YeoJohnson, exponent}.normalMoments(sign*mu, sigma)
			near(t, fmt.Sprintf("mean for sigma %g", sigma), sign*got, mean-1, 1e-7)
			near(t, fmt.Sprintf("standard deviation for sigma %g", sigma), math.Sqrt(spread), math.Sqrt(variance), 1e-7)
		}
	}
}

// TestMixtureMoments: the logarithm of a target that is a mixture of Gaussians makes a mixture of lognormal parts, of which
// some may be narrow.
func TestMixtureMoments(t *testing.T) {
	s, err := likelihood.Named("mixture", "parts=2")
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Start(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range [][]float64{{0}, {0, 0}, {-1, 1}, {-4, 0}} { // logarithms of scale and weights, shifts, logarithms of scales
		for k, x := range v {
			l.Params()[i].Set(k, x)
		}
	}
	const shift, scale, q = 0.3, 0.5, 1e-4
	narrow := math.Exp(-8)
	unit := 1 / (1 + (1+narrow)/2) // makes the variance 1
	mean, square := 0.0, 0.0
	for k, v := range []float64{narrow, 1} {
		mu, variance := shift+scale*float64(2*k-1)*math.Sqrt(unit), scale*scale*(q+v*unit)
		mean, square = mean+0.5*math.Exp(mu+variance/2), square+0.5*math.Exp(2*mu+2*variance)
	}
	m, v := Transform{Name: Log}.moments(inUnits{l.Predict(0, 0, q), shift, scale})
	near(t, "mean", m, mean, 1e-12)
	near(t, "variance", v, square-mean*mean, 1e-12)
}
