package task

import (
	"math"

	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/likelihood"
	"gonum.org/v1/gonum/integrate/quad"
)

// normalMoments returns the mean and the variance of Y with T(Y) ~ N(mu, sigma²): in closed form where Y is lognormal,
// otherwise by quadrature. The mean is NaN and the variance +Inf where they are beyond the numbers of a float64.
func (t Transform) normalMoments(mu, sigma float64) (mean, variance float64) {
	if t.Name == YeoJohnson {
		return t.yeoJohnsonMoments(mu, sigma)
	}
	mean = math.Exp(mu + 0.5*sigma*sigma)
	variance = mean * mean * math.Expm1(sigma*sigma)
	if t.Name == Log1p {
		mean--
	}
	return existing(mean, variance)
}

// hermite are the points and weights of Gauss and Hermite's rule for a standard Gaussian.
var hermite = func() (r struct {
	z [20]float64 // points
	w [20]float64 // weights
}) {
	quad.Hermite{}.FixedLocations(r.z[:], r.w[:], math.Inf(-1), math.Inf(1))
	for i := range r.z {
		r.z[i] *= math.Sqrt2
		r.w[i] /= math.Sqrt(math.Pi)
	}
	return r
}()

// narrow is a standard deviation of T(y) up to which one rule of Gauss serves, also where T⁻¹ is an exponential.
const narrow = 1.5

// yeoJohnsonMoments is normalMoments of YeoJohnson. T⁻¹ has no third derivative at 0. Where 0 is far, the error of one rule
// of Gauss is below 1e-8 of the standard deviation.
func (t Transform) yeoJohnsonMoments(mu, sigma float64) (mean, variance float64) {
	if math.Abs(mu) < 4*sigma || sigma > narrow {
		return t.quadrature(-mu/sigma, sigma, 2, func(z float64) (u, weight float64) {
			return mu + sigma*z, math.Exp(-0.5 * z * z)
		})
	}
	centre, square := t.invert(mu), 0.0
	for i, z := range hermite.z {
		r := t.invert(mu+sigma*z) - centre
		mean, square = mean+hermite.w[i]*r, square+hermite.w[i]*r*r
	}
	return existing(centre+mean, square-mean*mean)
}

// lawMoments returns the mean and the variance of Y with T(Y) = mu + scale·Z, where Z has the law l.
func (t Transform) lawMoments(l *law.Law, mu, scale float64) (mean, variance float64) {
	switch l.Family {
	case law.Gaussian:
		return t.normalMoments(mu, scale*l.Scale)
	case law.StudentT:
		return t.heavyMoments(inUnits{l, mu, scale}, l.DoF)
	}
	return t.mixtureMoments(l.Weights, func(k int) (float64, float64) { return mu + scale*l.Shifts[k], scale * l.Scales[k] })
}

// mixtureMoments returns the mean and the variance of Y where T(Y) is a mixture of Gaussians, of which part returns the mean
// and the standard deviation.
func (t Transform) mixtureMoments(weights []float64, part func(k int) (mu, sigma float64)) (mean, variance float64) {
	var buffer [20]float64
	means := buffer[:0]
	for k, w := range weights {
		m, v := t.normalMoments(part(k))
		means, mean, variance = append(means, m), mean+w*m, variance+w*v
	}
	for k, w := range weights {
		variance += w * (means[k] - mean) * (means[k] - mean)
	}
	return existing(mean, variance)
}

// moments returns the mean and the variance of Y where T(Y) has the distribution d: NaN where there is no mean, and +Inf
// where there is no variance.
func (t Transform) moments(d likelihood.Distribution) (mean, variance float64) {
	switch d := d.(type) {
	case likelihood.Normal:
		return t.normalMoments(d.Mu, d.Sigma)
	case inUnits:
		if l, ok := d.Distribution.(*law.Law); ok {
			return t.lawMoments(l, d.shift, d.scale)
		}
		if weights, parts := likelihood.Gaussians(d.Distribution); weights != nil {
			return t.mixtureMoments(weights, func(k int) (float64, float64) { return d.shift + d.scale*parts[k].Mu, d.scale * parts[k].Sigma })
		}
		return t.heavyMoments(d, likelihood.TailDoF(d.Distribution))
	}
	return t.anyMoments(d)
}

// heavyMoments is moments where the tails of T(Y) are those of Student's t with these degrees of freedom, of which T(Y) has
// the moments below. The tails of T⁻¹ grow like a power 1/λ and 1/(2 − λ), and for λ = 0, as for both logarithms,
// exponentially. A quadrature may end before such a tail counts.
func (t Transform) heavyMoments(d likelihood.Distribution, dof float64) (mean, variance float64) {
	below := math.Inf(1) // Y has the moments below this order
	if !math.IsInf(dof, 1) {
		below = dof * min(t.Exponent, 2-t.Exponent)
	}
	if below <= 1 {
		return math.NaN(), math.Inf(1)
	}
	if mean, variance = t.anyMoments(d); below <= 2 {
		variance = math.Inf(1)
	}
	return mean, variance
}

// anyMoments is moments by quadrature.
func (t Transform) anyMoments(d likelihood.Distribution) (mean, variance float64) {
	median := d.Quantile(0.5)
	scale := d.Quantile(0.75) - d.Quantile(0.25)
	return t.quadrature(math.Asinh(-median/scale), scale, 0.5, func(z float64) (u, weight float64) {
		u = median + scale*math.Sinh(z)
		return u, math.Exp(d.LogDensity(u)) * math.Cosh(z)
	})
}

// legendre are the points and weights of Gauss and Legendre's rule on [0,1], for each panel of a quadrature.
var legendre = func() (r struct {
	x [8]float64 // points
	w [8]float64 // weights
}) {
	quad.Legendre{}.FixedLocations(r.x[:], r.w[:], 0, 1)
	return r
}()

const (
	nearest  = 9     // bound of the point where the panels of both sides meet
	diverges = 10    // beyond it the integrand of a mean falls, or there is none
	farthest = 40    // where a quadrature ends that has not converged
	settles  = 1e-11 // share of an integral below which a panel does not matter
	exists   = 1e-6  // share of an integral below which the rest of a tail does not matter
)

// integrals are the integrals of 1, r, |r| and r² for r = y − centre.
type integrals [4]float64

// add adds the value r with a weight.
func (s *integrals) add(r, weight float64) {
	if weight > 0 {
		s[0], s[1], s[2], s[3] = s[0]+weight, s[1]+weight*r, s[2]+weight*math.Abs(r), s[3]+weight*r*r
	}
}

// within reports whether the integrals of 1, |r| and r² are shares of those of s at most.
func (s *integrals) within(part *integrals, share float64) bool {
	return part[0] <= share*s[0] && part[2] <= share*s[2] && part[3] <= share*s[3]
}

// quadrature returns the mean and the variance of Y = T⁻¹(u(z)), where z has a density proportional to the weight. It adds
// up panels to both sides of kink, where T⁻¹ has no third derivative, until they do not matter. No panel is wider than
// widest, and the first ones are narrower where unit, which is about du/dz, is large: T⁻¹ changes within a u of about 1.
func (t Transform) quadrature(kink, unit, widest float64, at func(z float64) (u, weight float64)) (mean, variance float64) {
	start := max(-nearest, min(nearest, kink))
	middle, _ := at(0)
	centre := t.invert(middle)
	var all integrals
	variance = 0
	for side := 1.0; side >= -1; side -= 2 {
		var part, last integrals
		width, z := min(widest, 0.5/unit), start
		for ; math.Abs(z) < farthest; width = min(widest, 1.5*width) {
			part = integrals{}
			for i, x := range legendre.x {
				u, w := at(z + side*width*x)
				part.add(t.invert(u)-centre, w*width*legendre.w[i])
			}
			for k, v := range part {
				all[k] += v
			}
			if z += side * width; z*side > 0 && all.within(&part, settles) {
				break
			}
			if math.Abs(z) > diverges && part[2] >= last[2] || math.IsInf(part[2], 1) {
				return math.NaN(), math.Inf(1)
			}
			last = part
		}
		if !(part[2] <= exists*all[2]) {
			return math.NaN(), math.Inf(1)
		}
		if !(part[3] <= exists*all[3]) {
			variance = math.Inf(1)
		}
	}
	mean = all[1] / all[0]
	return existing(centre+mean, variance+all[3]/all[0]-mean*mean)
}

// existing returns NaN for a mean that is not finite, and +Inf for a variance that is not finite. Other variances are
// above 0.
func existing(mean, variance float64) (float64, float64) {
	switch {
	case !(math.Abs(mean) < math.MaxFloat64):
		return math.NaN(), math.Inf(1)
	case !(variance < math.MaxFloat64):
		return mean, math.Inf(1)
	}
	return mean, max(variance, math.SmallestNonzeroFloat64)
}
