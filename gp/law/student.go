package law

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mathext"
)

// maxDoF is the largest number of degrees of freedom. A t with so many is a Gaussian up to about 1e-6.
const maxDoF = 1e6

// student is a multiple of Student's t. An infinite number of degrees of freedom means a Gaussian.
type student struct {
	dof, scale float64 // ν and the factor of the standard t
}

// gaussian reports whether the distribution is a Gaussian.
func (s student) gaussian() bool { return math.IsInf(s.dof, 1) }

// logConstant returns the log density at 0.
func (s student) logConstant() float64 {
	c := -0.5*math.Log(2*math.Pi) - math.Log(s.scale)
	if s.gaussian() {
		return c
	}
	return c + gammaRatio(s.dof/2) - 0.5*math.Log(s.dof/2)
}

// gammaRatio returns log Γ(x+½) − log Γ(x). For large x it is the asymptotic series, whose error is below 1e-14.
func gammaRatio(x float64) float64 {
	if x < 50 {
		up, _ := math.Lgamma(x + 0.5)
		down, _ := math.Lgamma(x)
		return up - down
	}
	i := 1 / (x * x)
	return 0.5*math.Log(x) - (1.0/8-i*(1.0/192-i/640))/x
}

// logDensity returns the log density at z.
func (s student) logDensity(z float64) float64 {
	z /= s.scale
	return s.logConstant() + s.decay(z*z)
}

// decay returns by how much the log density at z exceeds the log density at 0, for square = (z/scale)².
func (s student) decay(square float64) float64 {
	if s.gaussian() {
		return -0.5 * square
	}
	return -0.5 * (s.dof + 1) * math.Log1p(square/s.dof)
}

// tail returns P(Z > z) if upper is set, and P(Z ≤ z) otherwise. Both are exact in the tails.
func (s student) tail(z float64, upper bool) float64 {
	z /= s.scale
	if upper {
		z = -z
	}
	if s.gaussian() {
		return 0.5 * math.Erfc(-z/math.Sqrt2)
	}
	square := z * z
	switch {
	case math.IsNaN(z):
		return z
	case square < 1: // no cancellation, and all digits of a small z
		inside := 0.5 * mathext.RegIncBeta(0.5, s.dof/2, square/(s.dof+square))
		return 0.5 + math.Copysign(inside, z)
	}
	outside := 0.5 * mathext.RegIncBeta(s.dof/2, 0.5, 1/(1+square/s.dof))
	if z < 0 {
		return outside
	}
	return 1 - outside
}

// variance returns the variance.
func (s student) variance() float64 {
	if s.gaussian() {
		return s.scale * s.scale
	}
	return s.scale * s.scale * s.dof / (s.dof - 2)
}

// draw returns a draw, by the polar method of Bailey (1994, Mathematics of Computation 62, 779–781).
func (s student) draw(rng *rand.Rand) float64 {
	if s.gaussian() {
		return s.scale * rng.NormFloat64()
	}
	for {
		u, v := 2*rng.Float64()-1, 2*rng.Float64()-1
		if r := u*u + v*v; r > 0 && r <= 1 {
			return s.scale * u * math.Sqrt(s.dof*math.Expm1(-2/s.dof*math.Log(r))/r)
		}
	}
}

// crps returns the continuous ranked probability score (Jordan, Krüger, Lerch 2019, Journal of Statistical Software
// 90(12), appendix A).
func (s student) crps(z float64) float64 {
	z /= s.scale
	unit := student{s.dof, 1}
	middle := z * (unit.tail(z, false) - unit.tail(z, true))
	density := math.Exp(unit.logDensity(z))
	if s.gaussian() {
		return s.scale * (middle + 2*density - 1/math.SqrtPi)
	}
	// B(½, ν−½)/B(½, ν/2)² = exp(2r(ν/2) − r(ν−½))/√π with r(x) = log Γ(x+½)/Γ(x).
	beta := math.Exp(2*gammaRatio(s.dof/2)-gammaRatio(s.dof-0.5)) / math.SqrtPi
	return s.scale * (middle + 2*(density*(s.dof+z*z)-math.Sqrt(s.dof)*beta)/(s.dof-1))
}
