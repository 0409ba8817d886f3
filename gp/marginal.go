package gp

import (
	"math"

	"github.com/go-valla/valla/gp/likelihood"
)

// Marginal is a Posterior that can predict the variances of the outputs without their covariances. With many outputs
// covariances take most of the time and of the memory of a prediction, and class probabilities by [Probit] need none.
type Marginal interface {
	Posterior
	// Marginals returns the posterior with the same means and variances, and without covariances where this saves work, see
	// [Gaussian.Marginal].
	Marginals() Posterior
}

// CostlyClasses is the number of classes from which on class probabilities are computed without covariances of the logits,
// which then take most of the time and of the memory: of 1,000 classes 8 MB for each row. The results differ by rounding.
const CostlyClasses = 100

// Covariances returns how many covariances each output of a prediction has: all C of a few outputs and of numbers, and the variance alone
// of each of many classes.
func Covariances(p Problem) int {
	if c := p.Outputs(); !likelihood.IsClass(p.Likelihood) || c < CostlyClasses {
		return c
	}
	return 1
}

// PosteriorFunc is a Posterior of which only Compile is known.
type PosteriorFunc func(shape []int, size int, limit int64) (Compiled, error)

// Compile implements Posterior.
func (f PosteriorFunc) Compile(shape []int, size int, limit int64) (Compiled, error) {
	return f(shape, size, limit)
}

// Marginals returns the marginals of a [Marginal] and of a [Point], and another posterior as it is.
func Marginals(p Posterior) Posterior {
	switch p := p.(type) {
	case Marginal:
		return p.Marginals()
	case Point:
		return p.marginals()
	}
	return p
}

// ResizeMarginal is [Gaussian.Resize] for variances alone.
func (g *Gaussian) ResizeMarginal(n, c int, epistemic bool) {
	g.Resize(n, 1, epistemic) // without room for covariances
	g.Mean, g.Cov, g.Marginal = resized(g.Mean, n*c), resized(g.Cov, n*c), c
	if epistemic {
		g.Epistemic = resized(g.Epistemic, n*c)
	}
}

// ResizeFor is [Gaussian.Resize], or [Gaussian.ResizeMarginal] if marginal says so.
func (g *Gaussian) ResizeFor(n, c int, epistemic, marginal bool) {
	if marginal {
		g.ResizeMarginal(n, c, epistemic)
	} else {
		g.Resize(n, c, epistemic)
	}
}

// Reduce leaves the variances alone.
func (g *Gaussian) Reduce() {
	if g.Marginal > 0 {
		return
	}
	c := g.Outputs()
	for i := range g.Mean {
		g.Cov[i] = g.Cov[i*c+i%c]
	}
	g.Cov, g.Marginal = g.Cov[:len(g.Mean)], c
}

// Variance returns the variance of output k at input i.
func (g Gaussian) Variance(i, k int) float64 {
	c := g.Outputs()
	if g.Marginal > 0 {
		return g.Cov[i*c+k]
	}
	return g.Cov[(i*c+k)*c+k]
}

// Spread returns the square root of the mean variance of the outputs at input i, which measures how uncertain the outputs
// are. Variances below 0 count as 0.
func (g Gaussian) Spread(i int) float64 {
	sum, c := 0.0, g.Outputs()
	for k := range c {
		sum += max(g.Variance(i, k), 0)
	}
	return math.Sqrt(sum / float64(c))
}

// Block returns what Cov has of input i: covariances [C,C], or variances [C].
func (g Gaussian) Block(i int) []float64 {
	w := g.covWidth()
	return g.Cov[i*w : (i+1)*w]
}

// covWidth returns the numbers of Cov of an input.
func (g Gaussian) covWidth() int {
	c := g.Outputs()
	if g.Marginal > 0 {
		return c
	}
	return c * c
}
