package gp

import (
	"math"

	"github.com/go-valla/valla/gp/likelihood"
)

// CostlyClasses is the number of classes from which on class probabilities are computed without covariances of the logits,
// which then take most of the time and of the memory: of 1,000 classes 8 MB for each row. The results differ by rounding.
const CostlyClasses = 100

// Covariances returns how many covariances each of c outputs has in predictions under the observation model l: all c, or, of
// [CostlyClasses] and more, the variance alone.
func Covariances(l likelihood.Likelihood, c int) int {
	if likelihood.IsClass(l) && c >= CostlyClasses {
		return 1
	}
	return c
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

// variances returns numbers of which each step-th is a variance of the outputs at input i, from the first on.
func (g Gaussian) variances(i int) (v []float64, step int) {
	if v = g.Block(i); g.Marginal > 0 {
		return v, 1
	}
	return v, g.Outputs() + 1
}

// Variance returns the variance of output k at input i.
func (g Gaussian) Variance(i, k int) float64 {
	v, step := g.variances(i)
	return v[k*step]
}

// Spread returns the square root of the mean variance of the outputs at input i, which measures how uncertain the outputs
// are. Variances below 0 count as 0.
func (g Gaussian) Spread(i int) float64 {
	sum, c := 0.0, g.Outputs()
	v, step := g.variances(i)
	for k := range c {
		sum += max(v[k*step], 0)
	}
	return math.Sqrt(sum / float64(c))
}

// Forget sets the variance of output k at input i to 0, with its covariances.
func (g Gaussian) Forget(i, k int) {
	c, block := g.Outputs(), g.Block(i)
	if g.Marginal > 0 {
		block[k] = 0
		return
	}
	for j := range c {
		block[k*c+j], block[j*c+k] = 0, 0
	}
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
