package likelihood

import (
	"math"
	"math/rand/v2"
)

// mixed is the predictive distribution by quadrature: a mixture of p(y | f) over latent values.
type mixed struct {
	given    Conditional // p(y | f)
	kind     Kind        // of the targets
	mean, sd float64     // of the latent value
}

func newMixed(s Scalar, mean, variance float64) mixed {
	return mixed{s.Given(), s.Kind(), mean, math.Sqrt(max(variance, 0))}
}

// expect returns the mean of g(f) for a g that changes slowly.
func (d mixed) expect(g func(f float64) float64) float64 {
	if d.sd == 0 {
		return g(d.mean)
	}
	of, w, sum := plain, weights, 0.0
	if d.sd > wide {
		of, w = dense, denseWeights
	}
	for i, u := range of.u {
		sum += w[i] * g(d.mean+d.sd*u)
	}
	return sum
}

// Mean implements Distribution.
func (d mixed) Mean() float64 { return d.expect(d.given.Mean) }

// Variance implements Distribution: the law of total variance.
func (d mixed) Variance() float64 {
	mean := d.Mean()
	return d.expect(func(f float64) float64 {
		r := d.given.Mean(f) - mean
		return d.given.Variance(f) + r*r
	})
}

// LogDensity implements Distribution.
func (d mixed) LogDensity(y float64) float64 { return logExpect(d.given, []float64{y}, d.mean, d.sd) }

// CDF implements Distribution. P(Y ≤ y | f) changes where p(y | f) is large, around which the quadrature is dense. Of
// P(Y ≤ y | f) and P(Y > y | f), the quadrature sums the probability that is small where most of N(mean, sd²) is.
func (d mixed) CDF(y float64) float64 {
	if d.kind != Number {
		if y = math.Floor(y); y < 0 {
			return 0
		}
	}
	middle := d.given.CDF(y, d.mean)
	if d.sd == 0 {
		return middle
	}
	var space [2 * finePoints]float64
	centre, scale := mode(d.given, []float64{y}, d.mean, d.sd, 1)
	n := points
	if scale < 0.1 || d.sd > wide {
		n = finePoints
	}
	g := grid{space[:n], space[n : 2*n]}
	g.around(centre, shape*scale, reach+math.Abs(centre))
	lower, upper := 0.0, 0.0
	for i, u := range g.u {
		if w := math.Exp(g.logW[i]); w > 0 {
			p := d.given.CDF(y, d.mean+d.sd*u)
			lower, upper = lower+w*p, upper+w*(1-p)
		}
	}
	if middle > 0.5 {
		return min(max(1-upper, 0), 1)
	}
	return min(max(lower, 0), 1)
}

// Quantile implements Distribution.
func (d mixed) Quantile(p float64) float64 {
	if d.kind == Number {
		return quantile(d.CDF, d.LogDensity, p, d.Mean(), math.Sqrt(d.Variance()))
	}
	return wholeQuantile(d.CDF, p)
}

// Draw implements Distribution: the quantile of a random probability.
func (d mixed) Draw(rng *rand.Rand) float64 { return d.Quantile(max(rng.Float64(), 0x1p-60)) }

// quantile solves cdf(y) = p by Newton's method from a start on, within brackets that grow from a scale on and
// shrink by every value. A step that leaves the brackets is a bisection.
func quantile(cdf, logDensity func(float64) float64, p, start, scale float64) float64 {
	switch {
	case p <= 0:
		return math.Inf(-1)
	case p >= 1:
		return math.Inf(1)
	case !(scale > 0) || math.IsInf(scale, 0):
		scale = 1
	}
	lo, hi, y := math.Inf(-1), math.Inf(1), start
	for range 200 {
		miss := cdf(y) - p
		if miss >= 0 {
			hi = y
		} else {
			lo = y
		}
		next := y - miss*math.Exp(-logDensity(y))
		if limit := 4 * scale; !(math.Abs(next-y) <= limit) {
			next = y - math.Copysign(limit, miss)
			scale *= 2
		}
		if math.Abs(next-y) <= 1e-15*(math.Abs(y)+math.Abs(start)) {
			return next
		}
		if !(next > lo && next < hi) {
			next = lo + (hi-lo)/2
		}
		if next <= lo || next >= hi {
			return hi
		}
		y = next
	}
	return y
}

// wholeQuantile returns the smallest k = 0, 1, … with cdf(k) ≥ p.
func wholeQuantile(cdf func(float64) float64, p float64) float64 {
	lo, hi := -1.0, 0.0
	for cdf(hi) < p && hi < 1<<52 {
		lo, hi = hi, 2*hi+1
	}
	for hi-lo > 1 {
		mid := math.Floor((lo + hi) / 2)
		if cdf(mid) >= p {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}
