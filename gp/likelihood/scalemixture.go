package likelihood

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// farTail is the residual, in scales s, up to which the weights of a [givenStudent] serve.
const farTail = 60

// logPredictive is log E[p(y | f)] for f ~ N(mean, q): the closed form of [StudentT.Objective] for α = 1.
func (g *givenStudent) logPredictive(y, mean, q float64) float64 {
	r := (y - mean) / g.scale
	x, v := r*r/g.nu, q/(g.nu*g.scale*g.scale)
	if math.IsInf(x, 1) {
		return math.Inf(-1)
	}
	var grid scaleGrid
	grid.fill(0.5*(g.nu+1), x+v)
	for i, lambda := range grid.lambda {
		spread := 2 * lambda * v
		grid.logW[i] -= 0.5*math.Log1p(spread) + lambda*x/(1+spread)
	}
	return g.logC + LogSumExp(grid.logW[:])
}

// scaleMixture is the predictive distribution of Student's t: N(mean, q + s²/λ) for λ ~ Gamma(ν/2, ν/2).
type scaleMixture struct {
	*givenStudent
	mean, q float64 // of the latent value
}

// TailDoF returns the degrees of freedom of Student's t like which the tails of d fall, +Inf where d has other tails.
func TailDoF(d Distribution) float64 {
	if d, ok := d.(scaleMixture); ok {
		return d.nu
	}
	return math.Inf(1)
}

// Mean implements Distribution.
func (d scaleMixture) Mean() float64 { return d.mean }

// Variance implements Distribution: q + s²ν/(ν−2), +Inf for ν ≤ 2.
func (d scaleMixture) Variance() float64 { return d.q + d.givenStudent.Variance(0) }

// LogDensity implements Distribution.
func (d scaleMixture) LogDensity(y float64) float64 { return d.logPredictive(y, d.mean, d.q) }

// CDF implements Distribution.
func (d scaleMixture) CDF(y float64) float64 {
	lower := d.lower(-math.Abs(y - d.mean))
	if y > d.mean {
		return 1 - lower
	}
	return lower
}

// Survival returns P(Y > y), see [Survival]: the distribution is symmetric.
func (d scaleMixture) Survival(y float64) float64 { return d.CDF(d.mean - (y - d.mean)) }

// lower is P(Y − mean ≤ r) for r ≤ 0.
func (d scaleMixture) lower(r float64) float64 {
	x := r * r / (d.nu * d.scale * d.scale)
	if math.IsInf(x, 1) {
		return 0
	}
	if x > farTail*farTail/d.nu {
		var g scaleGrid
		g.fill(d.nu/2, x)
		sum := 0.0
		for i, lambda := range g.lambda {
			sum += math.Exp(g.logW[i]) * d.normal(r, lambda)
		}
		return sum
	}
	sum, least := 0.0, 0.0
	if r*r < 25*(d.q+d.scale*d.scale) {
		least = 1e-18 // smaller weights count in the tails alone
	}
	for i, w := range d.weights {
		if w > least {
			sum += w * d.normal(r, d.central.lambda[i])
		}
	}
	return sum
}

// normal is Φ(r/√(q + νs²/(2λ))).
func (d scaleMixture) normal(r, lambda float64) float64 {
	return 0.5 * math.Erfc(-r/math.Sqrt(2*d.varianceAt(lambda)))
}

// varianceAt is the variance q + νs²/(2λ) of Y given λ.
func (d scaleMixture) varianceAt(lambda float64) float64 {
	return d.q + 0.5*d.nu*d.scale*d.scale/lambda
}

// leastClosed is the ν from which on the quadrature gives mean distances within 1e-8 of the integral over the CDF: its points end
// where λ^(ν/2) is e^−33 of its maximum, and a mean distance falls like λ^((ν−1)/2) only.
const leastClosed = 2.5

// crps is E|Y − y| − ½E|Y − Y'|, as of [normals], whose means are all the same here, so that pairs need no more than a root.
func (d scaleMixture) crps(y float64) float64 {
	var v [scalePoints]float64
	sum, pairs := 0.0, 0.0
	for i, w := range d.weights {
		v[i] = d.varianceAt(d.central.lambda[i])
		sum += w * spreadOf(y-d.mean, v[i])
		same := 0.5 * w * math.Sqrt(2*v[i])
		for j, u := range d.weights[:i] {
			same += u * math.Sqrt(v[i]+v[j])
		}
		pairs += w * same
	}
	return sum - pairs*math.Sqrt(2/math.Pi)
}

// logDensity is about the log density at mean + r, by the quadrature that lower has, so that it costs as little.
func (d scaleMixture) logDensity(r float64) float64 {
	if r*r > farTail*farTail*d.scale*d.scale {
		return d.logPredictive(r, 0, d.q)
	}
	sum := 0.0
	for i, w := range d.weights {
		v := d.varianceAt(d.central.lambda[i])
		sum += w * math.Exp(-0.5*r*r/v) / math.Sqrt(v)
	}
	return math.Log(sum) - 0.5*math.Log(2*math.Pi)
}

// Quantile implements Distribution. The tails are symmetric, so that both have all their digits.
func (d scaleMixture) Quantile(p float64) float64 {
	if p > 0.5 {
		return 2*d.mean - d.Quantile(1-p)
	}
	spread := math.Sqrt(d.q + d.scale*d.scale)
	return d.mean + quantile(d.lower, d.logDensity, p, math.Min(distuv.UnitNormal.Quantile(p), 0)*spread, spread)
}

// Draw implements Distribution.
func (d scaleMixture) Draw(rng *rand.Rand) float64 {
	lambda := distuv.Gamma{Alpha: d.nu / 2, Beta: d.nu / 2, Src: rng}.Rand()
	return d.mean + math.Sqrt(d.q+d.scale*d.scale/lambda)*rng.NormFloat64()
}
