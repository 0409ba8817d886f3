package metric

import "math"

// Estimate is a score with its standard error: the standard deviation that the score would have over other samples
// of as many rows.
type Estimate struct {
	Value         float64 // the score
	StandardError float64 // NaN where it is not known, as for one row
}

// unknown is the estimate of a score that the rows do not have.
var unknown = Estimate{math.NaN(), math.NaN()}

// standardError returns the standard error of a mean of n numbers with a variance.
func standardError(variance, n float64) float64 {
	if n < 2 {
		return math.NaN()
	}
	return math.Sqrt(max(variance, 0) / (n - 1))
}

// Mean accumulates a mean. The zero value is ready to use.
type Mean struct {
	n              float64 // numbers so far
	sum            float64 // of the numbers
	centre, square float64 // running mean, and sum of squares around it (Welford 1962)
}

// Add adds a number.
func (m *Mean) Add(v float64) {
	m.n++
	m.sum += v
	d := v - m.centre
	m.centre += d / m.n
	m.square += d * (v - m.centre)
}

// Estimate returns the mean, and its standard error √(s²/n), where s² is the variance of the sample. It is NaN
// before the first number.
func (m *Mean) Estimate() Estimate {
	return Estimate{m.sum / m.n, math.Sqrt(m.square / (m.n - 1) / m.n)}
}

// root returns the root of an estimate: the standard error is that of the estimate times the slope of the root.
func (e Estimate) root() Estimate {
	r := math.Sqrt(e.Value)
	if r == 0 {
		return Estimate{0, e.StandardError}
	}
	return Estimate{r, e.StandardError / (2 * r)}
}
