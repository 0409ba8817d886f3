package likelihood

import (
	"math"
	"math/rand/v2"
)

// normals is the mixture Σ_k w_k N(at + mean_k, q + variance_k).
type normals struct {
	w, mean, variance []float64 // of the parts
	at, q             float64   // added to the means and to the variances
}

// Gaussians returns the weights and the Gaussians of a distribution that is a mixture of Gaussians; nil for others.
func Gaussians(d Distribution) (weights []float64, parts []Normal) {
	switch d := d.(type) {
	case Normal:
		return []float64{1}, []Normal{d}
	case normals:
		for k, m := range d.mean {
			parts = append(parts, Normal{d.at + m, math.Sqrt(d.q + d.variance[k])})
		}
		return d.w, parts
	}
	return nil, nil
}

// Mean implements Distribution.
func (d normals) Mean() float64 {
	sum := d.at
	for k, w := range d.w {
		sum += w * d.mean[k]
	}
	return sum
}

// Variance implements Distribution.
func (d normals) Variance() float64 {
	sum, mean := d.q, d.Mean()-d.at
	for k, w := range d.w {
		r := d.mean[k] - mean
		sum += w * (d.variance[k] + r*r)
	}
	return sum
}

// part returns log(w_k N(y; …)) and the residual of y divided by the variance of part k.
func (d normals) part(k int, y float64) (logP, pull float64) {
	v, r := d.q+d.variance[k], y-d.at-d.mean[k]
	return math.Log(d.w[k]) - 0.5*(r*r/v+math.Log(2*math.Pi*v)), r / v
}

// LogDensity implements Distribution.
func (d normals) LogDensity(y float64) float64 {
	top, sum := math.Inf(-1), 0.0
	for k := range d.w {
		logP, _ := d.part(k, y)
		if logP > top {
			top, sum = logP, sum*math.Exp(top-logP)
		}
		if logP > math.Inf(-1) {
			sum += math.Exp(logP - top)
		}
	}
	return top + math.Log(sum)
}

// slope is the derivative of LogDensity.
func (d normals) slope(y float64) float64 {
	total, sum := d.LogDensity(y), 0.0
	for k := range d.w {
		logP, pull := d.part(k, y)
		sum -= math.Exp(logP-total) * pull
	}
	return sum
}

// CDF implements Distribution.
func (d normals) CDF(y float64) float64 { return d.tail(y, 1) }

// Survival returns P(Y > y), see [Survival].
func (d normals) Survival(y float64) float64 { return d.tail(y, -1) }

// tail returns P(Y ≤ y) for the sign 1, and P(Y > y) for −1.
func (d normals) tail(y, sign float64) float64 {
	sum := 0.0
	for k, w := range d.w {
		sum += w * 0.5 * math.Erfc(sign*(d.at+d.mean[k]-y)/math.Sqrt(2*(d.q+d.variance[k])))
	}
	return min(sum, 1)
}

// Quantile implements Distribution.
func (d normals) Quantile(p float64) float64 {
	spread := math.Sqrt(d.Variance())
	start := Normal{d.Mean(), spread}.Quantile(p)
	return quantile(d.CDF, d.LogDensity, p, start, spread)
}

// Draw implements Distribution.
func (d normals) Draw(rng *rand.Rand) float64 {
	u, k := rng.Float64(), 0
	for u -= d.w[0]; u > 0 && k < len(d.w)-1; u -= d.w[k] {
		k++
	}
	return d.at + d.mean[k] + math.Sqrt(d.q+d.variance[k])*rng.NormFloat64()
}
