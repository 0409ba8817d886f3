package calibrate

import "slices"

// Functions for the tests in package calibrate_test.
var (
	AdaptiveScores = adaptiveScores
	NLL            = temperatureNLL
)

// VectorNLL returns vectorNLL of a vector.
func VectorNLL(mean, variance []float64, labels []int, v *Vector) float64 {
	return vectorNLL(mean, variance, labels, slices.Concat(v.Scale, v.Bias), nil)
}
