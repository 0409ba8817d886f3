package graph

import (
	"math"
	"sync"

	"gorgonia.org/tensor"
)

// erfTerms is the number of terms of the series of erfc, which has all digits of float64.
const erfTerms = 30

// erfSeries returns the coefficients of the function log(erfc(x)/t) + x² of t = 1/(1 + x/2), x ≥ 0, in Chebyshev's polynomials
// of 2t − 1. The function is smooth, so that few terms have all digits; they follow here from math.Erfc.
var erfSeries = sync.OnceValue(func() []float64 {
	const nodes = 200
	c := make([]float64, erfTerms)
	for k := range nodes {
		theta := math.Pi * (float64(k) + 0.5) / nodes
		t := (math.Cos(theta) + 1) / 2
		v := logScaledErfc(2 * (1 - t) / t)
		for j := range c {
			c[j] += 2 * (v - math.Log(t)) * math.Cos(float64(j)*theta) / nodes
		}
	}
	c[0] /= 2
	return c
})

// logScaledErfc is log erfc(x) + x² for x ≥ 0. Above 20 it is the logarithm of the continued fraction of Abramowitz and Stegun, 7.1.14.
func logScaledErfc(x float64) float64 {
	if x < 20 {
		return math.Log(math.Erfc(x)) + x*x
	}
	f := x
	for n := 40; n > 0; n-- {
		f = x + float64(n)/2/f
	}
	return -math.Log(f) - 0.5*math.Log(math.Pi)
}

// erfONNX is an operator in float32. In float64 engines do not have it.
func erfONNX(w *ONNX, x string) string {
	if w.dt == tensor.Float64 {
		return w.wideErf(x)
	}
	return w.Node("Erf", nil, x)
}

// wideErf writes erf in float64 by Clenshaw's recurrence.
func (w *ONNX) wideErf(x string) string {
	c := erfSeries()
	z := w.Node("Abs", nil, x)
	t := w.Node("Div", nil, w.Number(1), affineONNX(0.5, 1)(w, z))
	u2 := affineONNX(4, -2)(w, t) // 2u
	b1, b2 := w.Number(0), w.Number(0)
	for j := len(c) - 1; j > 0; j-- {
		b := w.Node("Add", nil, w.Node("Sub", nil, w.Node("Mul", nil, u2, b1), b2), w.Number(c[j]))
		b1, b2 = b, b1
	}
	half := w.Node("Mul", nil, u2, w.Number(0.5))
	p := w.Node("Add", nil, w.Node("Sub", nil, w.Node("Mul", nil, half, b1), b2), w.Number(c[0]))
	power := w.Node("Sub", nil, p, w.Node("Mul", nil, z, z))
	tail := w.Node("Mul", nil, t, w.Node("Exp", nil, power))
	sign := w.Node("Sub", nil, stepONNX(w, x), stepONNX(w, w.Node("Neg", nil, x)))
	return w.Node("Mul", nil, sign, affineONNX(-1, 1)(w, tail))
}
