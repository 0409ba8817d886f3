package law

import "math"

// The prior of Student's t. The density of 1/ν falls like e^{−shrink/ν}. The log of the standard deviation of Z, which is
// near 0 where V is true, has the density (1 + (log/spreadWidth)²)^{−spreadRows·spreadWidth²}. Near 0 this is worth
// spreadRows rows of a Gaussian with standard deviation 1. Far from 0 it is worth ever less, because V is then wrong. The
// skewness κ has a Gaussian around 0. With few rows all lead to a t that is nearly the Gaussian.
const (
	shrink      = 6.0
	spreadRows  = 50.0
	spreadWidth = 0.3
	skewWidth   = 0.3
)

// largestLog bounds the log of a scale, for residuals that are all 0.
const largestLog = 12.0

// mostInverse is the largest 1/ν in a fit.
const mostInverse = 1 / MinDoF

// mostDoF returns the largest number of degrees of freedom of a t for n rows. Rows without outliers do not prove that
// there are none: a Gaussian in place of this t gains less than n rows can show, and loses far more by a single row 10
// standard deviations away.
func mostDoF(n int) float64 { return min(45+float64(n)/50, maxDoF) }

// logPrior returns the log of the prior density of a t. The prior of its standard deviation is worth a number of rows.
func (s student) logPrior(rows float64) float64 {
	x := (math.Log(s.scale) - 0.5*math.Log1p(-2/s.dof)) / spreadWidth
	return -shrink/s.dof - rows*spreadWidth*spreadWidth*math.Log1p(x*x) - 0.5*s.skew*s.skew/(skewWidth*skewWidth)
}

// logDensities sets dst to the log densities of the values of p, minus the log scales h of the rows. A nil h is 0.
func (s student) logDensities(dst, values, h []float64, p part) {
	constant, u := s.logConstant(), s.unit()
	for i := p.from; i < p.to; i++ {
		y := u.distance(values[i])
		dst[i] = constant + s.decay(y*y)
		if h != nil {
			dst[i] -= h[i]
		}
	}
}
