package law

import (
	"math"
	"math/rand/v2"
)

// mixture is a mixture of K Gaussians.
type mixture struct {
	weights, shifts, scales []float64 // weight, mean and standard deviation of each part [K]
}

// logDensity returns the log density at z.
func (m mixture) logDensity(z float64) float64 {
	largest, sum := math.Inf(-1), 0.0
	for k := range m.weights {
		v := m.logPart(k, z)
		if v > largest {
			sum, largest = sum*math.Exp(largest-v), v
		}
		if v > math.Inf(-1) {
			sum += math.Exp(v - largest)
		}
	}
	return largest + math.Log(sum)
}

// logPart returns the log of the weight of part k times its density at z.
func (m mixture) logPart(k int, z float64) float64 {
	u := (z - m.shifts[k]) / m.scales[k]
	return math.Log(m.weights[k]/m.scales[k]) - 0.5*u*u - 0.5*math.Log(2*math.Pi)
}

// tail returns P(Z > z) if upper is set, and P(Z ≤ z) otherwise. Both are exact in the tails.
func (m mixture) tail(z float64, upper bool) (p float64) {
	for k, w := range m.weights {
		p += w * student{dof: math.Inf(1), scale: m.scales[k]}.tail(z-m.shifts[k], upper)
	}
	return p
}

// variance returns the variance.
func (m mixture) variance() (v float64) {
	for k, w := range m.weights {
		v += w * (m.shifts[k]*m.shifts[k] + m.scales[k]*m.scales[k])
	}
	return v
}

// draw returns a draw.
func (m mixture) draw(rng *rand.Rand) float64 {
	last := len(m.weights) - 1
	k, u := 0, rng.Float64()
	for k < last && u >= m.weights[k] {
		u -= m.weights[k]
		k++
	}
	return m.shifts[k] + m.scales[k]*rng.NormFloat64()
}

// crps returns the continuous ranked probability score (Grimit et al. 2006, Quarterly Journal of the Royal
// Meteorological Society 132, equation 5).
func (m mixture) crps(z float64) (score float64) {
	for k, w := range m.weights {
		score += w * distance(z-m.shifts[k], m.scales[k])
		for j, v := range m.weights {
			score -= 0.5 * w * v * distance(m.shifts[k]-m.shifts[j], math.Hypot(m.scales[k], m.scales[j]))
		}
	}
	return score
}

// distance returns E|X| of a Gaussian X with this mean and standard deviation.
func distance(mean, scale float64) float64 {
	u := mean / scale
	return scale * (u*math.Erf(u/math.Sqrt2) + math.Sqrt(2/math.Pi)*math.Exp(-0.5*u*u))
}
