package likelihood

import (
	"math"
	"math/rand/v2"
)

// finite is a distribution on 0, 1, …, K−1 by the logarithms of its probabilities.
type finite []float64

// Mean implements Distribution.
func (d finite) Mean() float64 {
	sum := 0.0
	for k, v := range d {
		sum += float64(k) * math.Exp(v)
	}
	return sum
}

// Variance implements Distribution.
func (d finite) Variance() float64 {
	mean, sum := d.Mean(), 0.0
	for k, v := range d {
		r := float64(k) - mean
		sum += r * r * math.Exp(v)
	}
	return sum
}

// LogDensity implements Distribution.
func (d finite) LogDensity(y float64) float64 {
	if y != math.Floor(y) || !(y >= 0 && y < float64(len(d))) {
		return math.Inf(-1)
	}
	return d[int(y)]
}

// CDF implements Distribution.
func (d finite) CDF(y float64) float64 {
	if y >= float64(len(d)-1) {
		return 1
	}
	sum := 0.0
	for k, v := range d {
		if float64(k) <= y {
			sum += math.Exp(v)
		}
	}
	return min(sum, 1)
}

// Quantile implements Distribution.
func (d finite) Quantile(p float64) float64 {
	sum := 0.0
	for k, v := range d[:len(d)-1] {
		if sum += math.Exp(v); sum >= p {
			return float64(k)
		}
	}
	return float64(len(d) - 1)
}

// Draw implements Distribution.
func (d finite) Draw(rng *rand.Rand) float64 { return d.Quantile(rng.Float64()) }
