package kernel

import "math"

// Spread returns the root of the mean of the variances in a covariance [C,C]: how far the outputs of a network
// are from certain at one input.
func Spread(cov []float64, c int) float64 {
	sum := 0.0
	for k := range c {
		sum += max(cov[k*c+k], 0)
	}
	return math.Sqrt(sum / float64(c))
}
