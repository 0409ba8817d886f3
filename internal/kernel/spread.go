package kernel

import "math"

// Spread returns the square root of the mean variance in a covariance [c,c]. Variances below 0 count as 0.
// It measures how uncertain the outputs of a network are at one input.
func Spread(cov []float64, c int) float64 {
	sum := 0.0
	for k := range c {
		sum += max(cov[k*c+k], 0)
	}
	return math.Sqrt(sum / float64(c))
}
