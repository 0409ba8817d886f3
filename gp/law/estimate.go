package law

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/go-valla/valla/internal/kernel"
)

// The prior of Student's t. The density of 1/ν falls like e^{−shrink/ν}. The prior of the log of the standard
// deviation of Z, which is near 0 where V is true, is −2·spreadRows·spreadWidth²·log cosh(log/spreadWidth). Near 0 this
// is worth spreadRows rows of a Gaussian with standard deviation 1, and far from 0 its slope stays bounded. With few
// rows both lead to the Gaussian, and rows without outliers do not make the tails lighter and the scale smaller.
const (
	shrink      = 6.0
	spreadRows  = 50.0
	spreadWidth = 0.5
)

// largestLog bounds the log of a scale, for residuals that are all 0.
const largestLog = 12.0

// mostInverse is the largest 1/ν in a fit.
const mostInverse = 1 / MinDoF

// leastInverse returns the smallest 1/ν of a fit to n rows, and so the largest ν. Rows without outliers do not prove
// that there are none: a Gaussian in place of the t with 45 + n/50 degrees of freedom gains less than n rows can show,
// and loses far more by a single row 10 standard deviations away.
func leastInverse(n int) float64 { return 1 / (45 + float64(n)/50) }

// estimate fits Student's t to residuals.
type estimate struct {
	squares []float64 // squared residuals [n]
	out     part      // rows that the fit leaves out
	rows    float64   // number of rows that the prior of the standard deviation is worth
	log     float64   // log of the scale, so far
	dof     float64   // ν, so far
}

// fitStudent returns the t of highest posterior density for values without the rows of out. The prior of its standard
// deviation is worth a number of rows.
func fitStudent(values []float64, out part, rows float64) student {
	squares := make([]float64, len(values))
	kernel.Square(squares, values)
	return estimate{squares: squares, out: out, rows: rows}.fit()
}

// fit returns the t of highest posterior density.
func (e estimate) fit() student {
	lo, hi := leastInverse(len(e.squares)), mostInverse
	atLo := e.slope(lo)
	if atLo <= 0 {
		return e.student()
	}
	atHi := e.slope(hi)
	if atHi >= 0 {
		return e.student()
	}
	for side := 0; hi-lo > 1e-4*hi; { // the Illinois variant of regula falsi
		middle := (lo*atHi - hi*atLo) / (atHi - atLo)
		at := e.slope(middle)
		if math.Abs(at) < 1e-6*float64(len(e.squares)) {
			break
		}
		if at > 0 {
			if lo, atLo = middle, at; side > 0 {
				atHi /= 2
			}
			side = 1
		} else {
			if hi, atHi = middle, at; side < 0 {
				atLo /= 2
			}
			side = -1
		}
	}
	return e.student()
}

// student returns the t so far.
func (e *estimate) student() student { return student{dof: e.dof, scale: math.Exp(e.log)} }

// slope sets ν to 1/inverse and the scale to its best value, and returns the derivative of the log posterior by 1/ν.
func (e *estimate) slope(inverse float64) float64 {
	v := 1 / inverse
	e.dof = v
	e.rescale()
	constant := mathext.Digamma((v+1)/2) - mathext.Digamma(v/2) - inverse
	factor, sum := math.Exp(-2*e.log)/v, 0.0
	for i, s := range e.squares {
		if !e.out.has(i) {
			u := factor * s
			sum += constant - math.Log1p(u) + (1+inverse)*u/(1+u)
		}
	}
	slope, _ := e.prior()
	return -0.5*v*v*sum - shrink + slope/(1-2*inverse)
}

// prior returns the derivative of the log prior by the log of the standard deviation, and minus the second derivative.
func (e *estimate) prior() (slope, curvature float64) {
	x := math.Tanh((e.log - 0.5*math.Log1p(-2/e.dof)) / spreadWidth)
	return -2 * e.rows * spreadWidth * x, 2 * e.rows * (1 - x*x)
}

// logPrior returns the log of the prior density.
func (e *estimate) logPrior() float64 {
	x := e.log - 0.5*math.Log1p(-2/e.dof)
	return -shrink/e.dof - 2*e.rows*spreadWidth*spreadWidth*math.Log(math.Cosh(x/spreadWidth))
}

// rescale sets the scale to its best value for ν. The derivative of the log posterior by the log of the scale falls
// everywhere, so Newton's steps with a bound find its only root.
func (e *estimate) rescale() {
	for range 50 {
		scaled := e.dof * math.Exp(2*e.log)
		first, second := e.prior()
		for i, s := range e.squares {
			if !e.out.has(i) {
				share := s / (scaled + s)
				first += (e.dof+1)*share - 1
				second += 2 * (e.dof + 1) * share * (1 - share)
			}
		}
		step := max(-1, min(1, first/second))
		e.log = max(-largestLog, min(largestLog, e.log+step))
		if math.Abs(step) < 1e-6 {
			return
		}
	}
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
