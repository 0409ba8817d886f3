package metric

import "math"

// GaussianNLL returns the negative log density, in nats, of y under N(mean, variance):
//
//	½ log(2π variance) + (y − mean)² / (2 variance)
//
// The variance is the variance of y, and therefore includes the noise variance.
func GaussianNLL(mean, variance, y float64) float64 {
	d := y - mean
	return 0.5 * (math.Log(2*math.Pi*variance) + d*d/variance)
}

// GaussianCRPS returns the continuous ranked probability score of y under N(mean, variance),
// in the units of y. Smaller is better, and 0 is perfect. With s = √variance and
// z = (y − mean)/s it is
//
//	s [ z (2Φ(z) − 1) + 2φ(z) − 1/√π ],
//
// where φ and Φ are the density and the distribution function of N(0, 1). Source: Gneiting and
// Raftery, Strictly Proper Scoring Rules, Prediction, and Estimation, JASA 102 (2007), section
// 4.2, with the opposite sign.
func GaussianCRPS(mean, variance, y float64) float64 {
	s := math.Sqrt(variance)
	z := (y - mean) / s
	density := math.Exp(-0.5*z*z) / math.Sqrt(2*math.Pi)
	return s * (z*math.Erf(z/math.Sqrt2) + 2*density - 1/math.Sqrt(math.Pi))
}
