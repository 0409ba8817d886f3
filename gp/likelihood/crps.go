package likelihood

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// CRPS returns the continuous ranked probability score of a distribution at a target, ∫ (F(t) − 1{t ≥ y})² dt, for
// counts and ordered classes the sum over the whole numbers t (Gneiting and Raftery 2007). It is in closed form for
// Gaussians, their mixtures and, from ν = 2.5 on, Student's t around a Gaussian. It is NaN for classes, which have no distribution of numbers, and +Inf where
// the tails are too heavy.
func CRPS(d Distribution, y float64, kind Kind) float64 {
	switch d := d.(type) {
	case nil:
		return math.NaN()
	case Normal:
		return spreadOf(y-d.Mu, d.Variance()) - 0.5*spreadOf(0, 2*d.Variance())
	case normals:
		return d.crps(y)
	case scaleMixture:
		if d.nu >= leastClosed {
			return d.crps(y)
		}
	case counts:
		return d.crps(y)
	}
	if kind == Number || !(d.Variance() <= mostSummed*mostSummed) {
		return integratedCRPS(d, y, kind, 0, 0)
	}
	sum := 0.0
	for k := 0.0; ; k++ {
		r := d.CDF(k)
		if k >= y {
			r = 1 - r
		}
		sum += r * r
		if k >= y && r < 1e-10 {
			return sum
		}
	}
}

// mostSummed is the largest standard deviation of counts over which [CRPS] sums. Beyond it the steps of their
// CDF do not matter.
const mostSummed = 500

// spreadOf is E|X| for X ~ N(mu, v).
func spreadOf(mu, v float64) float64 {
	sd := math.Sqrt(v)
	if sd == 0 {
		return math.Abs(mu)
	}
	return 2*sd*distuv.UnitNormal.Prob(mu/sd) + mu*math.Erf(mu/(sd*math.Sqrt2))
}

// crps is E|Y − y| − ½E|Y − Y'| (Grimit et al. 2006, eq. 4).
func (d normals) crps(y float64) float64 {
	sum := 0.0
	for i, w := range d.w {
		v := d.q + d.variance[i]
		sum += w * spreadOf(y-d.at-d.mean[i], v)
		for j, u := range d.w {
			sum -= 0.5 * w * u * spreadOf(d.mean[i]-d.mean[j], v+d.q+d.variance[j])
		}
	}
	return sum
}

// legendre are the points and weights of Gauss and Legendre's rule on [−1,1], for each panel of [integratedCRPS].
var legendre = func() (r struct{ x, w [12]float64 }) {
	quad.Legendre{}.FixedLocations(r.x[:], r.w[:], -1, 1)
	return r
}()

// integratedCRPS is the integral over v with t = median + scale·sinh v, in which the tails of all distributions fall
// exponentially or faster: panel by panel to both sides of y until nothing is added. It is +Inf for tails so heavy that
// more and more is added, such as the tails of the exponential of Student's t. The part of counts below least is
// given as sum.
func integratedCRPS(d Distribution, y float64, kind Kind, least, sum float64) float64 {
	const width = 0.4
	median := d.Quantile(0.5)
	scale := 0.5 * (d.Quantile(0.75) - d.Quantile(0.25))
	far, lowest := 10.0, math.Inf(-1)
	if kind != Number { // almost all counts may be 0, and the others huge
		scale = max(scale, 0.5)
		lowest = math.Asinh((least - median) / scale)
		if sd := math.Sqrt(d.Variance()); sd < 1e100 {
			far += math.Asinh(sd / scale)
		}
	}
	if !(scale > 0) {
		return math.Abs(y - median)
	}
	start := max(math.Asinh((y-median)/scale), lowest)
	far += math.Abs(start)
	for side, above := range []bool{false, true} {
		step := width * float64(2*side-1)
		last := 0.0
		for v := start; ; v += step {
			part := crpsPanel(d, median, scale, v, max(v+step, min(v, lowest)), above) // no count is below 0
			if math.Abs(v) > far && part >= last {
				return math.Inf(1)
			}
			last = part
			sum += part
			if part <= 1e-11*sum && (v+step)*step > 0 {
				break
			}
		}
	}
	return sum
}

// crpsPanel is the integral of F(t)², or above the target of (1 − F(t))², from one v to another, see [integratedCRPS].
func crpsPanel(d Distribution, median, scale, from, to float64, above bool) float64 {
	sum := 0.0
	for i, x := range legendre.x {
		v := from + (to-from)*(x+1)/2
		r := d.CDF(median + scale*math.Sinh(v))
		if above {
			r = 1 - r
		}
		sum += legendre.w[i] * r * r * math.Cosh(v)
	}
	return math.Abs(sum * scale * (to - from) / 2)
}
