package kernel

import "math"

// Mean returns the mean of v.
func Mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x / float64(len(v))
	}
	return sum
}

// StandardError returns the standard error of the mean of v. The error of a single number is unknown, and
// the result is then the magnitude of the number.
func StandardError(v []float64) float64 {
	m, sum := Mean(v), 0.0
	if len(v) == 1 {
		return math.Abs(m)
	}
	for _, x := range v {
		sum += (x - m) * (x - m)
	}
	return math.Sqrt(sum / float64(len(v)-1) / float64(len(v)))
}

// MeanDifference returns the mean of the differences a − b of two vectors of the same length, and its standard
// error.
func MeanDifference(a, b []float64) (mean, standard float64) {
	diff := make([]float64, len(a))
	for i := range diff {
		diff[i] = a[i] - b[i]
	}
	return Mean(diff), StandardError(diff)
}

// Least returns the index of the smallest number, where NaN counts as infinite; 0 if there is no smallest.
func Least(v []float64) int {
	at, least := 0, math.Inf(1)
	for i, x := range v {
		if x < least {
			at, least = i, x
		}
	}
	return at
}
