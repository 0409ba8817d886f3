package kernel

import "math"

// AdamCoefficients are the numbers that all elements share in one step of Adam, for a
// parameter θ with the gradient g and the moments m and v:
//
//	d = g + Coupled θ,  m ← Beta1 m + Rest1 d,  v ← Beta2 v + Rest2 d²,
//	θ ← Keep θ − Rate m / (√v · Unbias + Eps)
//
// The assembly relies on the order of the fields.
type AdamCoefficients[T Float] struct {
	Beta1, Rest1, Beta2, Rest2 T // decay rates of the moments, and 1 minus each
	Rate, Unbias, Eps          T // step size, correction 1/√(1 − Beta2ᵗ) of √v at step t, and ε
	Coupled, Keep              T // weight decay within the gradient, and factor of θ for weight decay outside of it
}

// Adam makes a step of Adam (Kingma and Ba 2015) on theta with the gradient g and the
// moments m and v, all of the same length. Subnormal numbers may count as zero.
func Adam[T Float](theta, m, v, g []T, c *AdamCoefficients[T]) {
	for _, x := range [][]T{m, v, g} {
		checkLength(len(theta), len(x))
	}
	if fastAdam(theta, m, v, g, c) {
		return
	}
	for i, x := range theta {
		d := g[i] + c.Coupled*x
		mi := c.Beta1*m[i] + c.Rest1*d
		vi := c.Beta2*v[i] + c.Rest2*d*d
		m[i], v[i] = mi, vi
		theta[i] = c.Keep*x - c.Rate*mi/(T(math.Sqrt(float64(vi)))*c.Unbias+c.Eps)
	}
}
