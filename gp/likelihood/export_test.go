package likelihood

import "gorgonia.org/tensor"

// Models of one output, for tests outside the package.
var (
	Bernoulli Scalar = bernoulli{}
	Poisson   Scalar = count{exposure: true}
)

// NewNegativeBinomial returns negative binomial counts of size r.
func NewNegativeBinomial(r float64) Scalar { return count{logSize: newSize(r)} }

// NewOrdinal returns ordered classes with these thresholds.
func NewOrdinal(b []float64) Scalar { return newOrdinal(b, tensor.Float64) }

// NewMixture returns a mixture of noise.
func NewMixture(w, shifts, scales []float64) Scalar {
	return newMixture(w, shifts, scales, tensor.Float64)
}

// NewCensored returns a censored Gaussian.
func NewCensored(sigma float64) Scalar { return newCensored(sigma, tensor.Float64) }
