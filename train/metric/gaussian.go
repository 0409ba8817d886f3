package metric

import "math"

// GaussianNLL is the negative log density, in nats, of y under N(mean, variance):
//
//	½ log(2π variance) + (y − mean)² / (2 variance)
//
// The variance is that of y: it includes the noise.
func GaussianNLL(mean, variance, y float64) float64 {
	d := y - mean
	return 0.5 * (math.Log(2*math.Pi*variance) + d*d/variance)
}

// GaussianCRPS is the continuous ranked probability score of y under
// N(mean, variance), in the units of y; 0 is perfect, smaller is better.
// With s = √variance and z = (y − mean)/s:
//
//	s [ z (2Φ(z) − 1) + 2φ(z) − 1/√π ]
//
// Source: Gneiting and Raftery, Strictly Proper Scoring Rules, Prediction, and
// Estimation, JASA 102 (2007), section 4.2, with the sign turned.
func GaussianCRPS(mean, variance, y float64) float64 {
	s := math.Sqrt(variance)
	z := (y - mean) / s
	density := math.Exp(-0.5*z*z) / math.Sqrt(2*math.Pi)
	return s * (z*math.Erf(z/math.Sqrt2) + 2*density - 1/math.Sqrt(math.Pi))
}
