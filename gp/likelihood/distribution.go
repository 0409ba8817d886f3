package likelihood

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// Distribution is the distribution of one number: the predictive distribution of a target.
type Distribution interface {
	// Mean returns the mean, NaN where there is none.
	Mean() float64
	// Variance returns the variance, +Inf where there is none.
	Variance() float64
	// LogDensity returns the log density at y; for targets that are counts, labels or ordered
	// classes the log probability.
	LogDensity(y float64) float64
	// CDF returns the probability of values of at most y.
	CDF(y float64) float64
	// Quantile returns the smallest value y whose CDF is p or more, 0 < p < 1.
	Quantile(p float64) float64
	// Draw returns a random value.
	Draw(rng *rand.Rand) float64
}

// Survival returns the probability that a number with the distribution d is larger than y. A method Survival of d returns
// it without the loss of digits of 1 − CDF in the upper tail.
func Survival(d Distribution, y float64) float64 {
	if tail, ok := d.(interface{ Survival(y float64) float64 }); ok {
		return tail.Survival(y)
	}
	return 1 - d.CDF(y)
}

// Normal is N(Mu, Sigma²).
type Normal struct{ Mu, Sigma float64 }

// Mean implements Distribution.
func (n Normal) Mean() float64 { return n.Mu }

// Variance implements Distribution.
func (n Normal) Variance() float64 { return n.Sigma * n.Sigma }

// LogDensity implements Distribution.
func (n Normal) LogDensity(y float64) float64 {
	return distuv.UnitNormal.LogProb((y-n.Mu)/n.Sigma) - math.Log(n.Sigma)
}

// CDF implements Distribution.
func (n Normal) CDF(y float64) float64 { return 0.5 * math.Erfc((n.Mu-y)/(n.Sigma*math.Sqrt2)) }

// Survival returns P(Y > y), see [Survival].
func (n Normal) Survival(y float64) float64 {
	return 0.5 * math.Erfc((y-n.Mu)/(n.Sigma*math.Sqrt2))
}

// Quantile implements Distribution.
func (n Normal) Quantile(p float64) float64 { return n.Mu + n.Sigma*mathext.NormalQuantile(p) }

// Draw implements Distribution.
func (n Normal) Draw(rng *rand.Rand) float64 { return n.Mu + n.Sigma*rng.NormFloat64() }
