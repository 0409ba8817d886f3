package law

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mathext"
)

// maxDoF is the largest number of degrees of freedom. A t with so many is a Gaussian up to about 1e-6.
const maxDoF = 1e6

// maxSkew is the largest magnitude of a skewness κ.
const maxSkew = 3

// student is a multiple of Student's t, or of a t of two pieces with mean 0 (Fernández, Steel 1998, Journal of the
// American Statistical Association 93, 359–371): the part of a standard t below 0 is e^−κ times as wide, the part above
// 0 is e^κ times as wide, and the result is shifted. An infinite number of degrees of freedom means a Gaussian.
type student struct {
	dof, scale, skew float64 // ν, the factor of the standard t, and κ; κ = 0 is the symmetric t
}

// gaussian reports whether the pieces are Gaussians.
func (s student) gaussian() bool { return math.IsInf(s.dof, 1) }

// pair is what a loop over values needs of a t of two pieces.
type pair struct {
	left, right float64 // widths of the pieces below and above, in units of the scale; their product is 1
	mean        float64 // mean before the shift, in units of the scale
	scale       float64 // scale of the t
}

// unit returns the pair of s.
func (s student) unit() pair {
	if s.skew == 0 {
		return pair{1, 1, 0, s.scale}
	}
	left, right := math.Exp(-s.skew), math.Exp(s.skew)
	return pair{left, right, s.size() * (right - left), s.scale}
}

// width returns the distance x of z from the point where the pieces meet, in units of the scale, and the width of the
// piece of z.
func (p pair) width(z float64) (x, width float64) {
	if x = z/p.scale + p.mean; x < 0 {
		return x, p.left
	}
	return x, p.right
}

// distance returns the distance of z from the point where the pieces meet, in units of the width of its piece.
func (p pair) distance(z float64) float64 {
	x, width := p.width(z)
	return x / width
}

// share returns the probability of the piece of this width.
func (p pair) share(width float64) float64 { return width / (p.left + p.right) }

// size returns E|T| of a standard t.
func (s student) size() float64 {
	if s.gaussian() {
		return math.Sqrt(2 / math.Pi)
	}
	return 2 * math.Sqrt(s.dof) / (s.dof - 1) * math.Exp(gammaRatio(s.dof/2)) / math.SqrtPi
}

// logConstant returns the log density of the standard t at 0, minus the log of the scale and of the mean width.
func (s student) logConstant() float64 {
	c := -0.5*math.Log(2*math.Pi) - math.Log(s.scale)
	if s.skew != 0 {
		c -= math.Log(math.Cosh(s.skew))
	}
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
	y := s.unit().distance(z)
	return s.logConstant() + s.decay(y*y)
}

// decay returns the log density of the standard t at a value with this square, minus the log density at 0.
func (s student) decay(square float64) float64 {
	if s.gaussian() {
		return -0.5 * square
	}
	return -0.5 * (s.dof + 1) * math.Log1p(square/s.dof)
}

// scores sets dst to the derivatives of the log densities of values by their log scale, outside a part.
func (s student) scores(dst, values []float64, out part) {
	u := s.unit()
	for i, z := range values {
		if dst[i] = 0; !out.has(i) {
			x, width := u.width(z)
			y := x / width
			dst[i] = (s.dof+1)*y/(s.dof+y*y)*z/(s.scale*width) - 1
		}
	}
}

// tail returns P(Z > z) if upper is set, and P(Z ≤ z) otherwise. Both are exact in the tails.
func (s student) tail(z float64, upper bool) float64 {
	u := s.unit()
	x, width := u.width(z)
	p := 2 * u.share(width) * s.beyond(math.Abs(x/width))
	if (x >= 0) == upper {
		return p
	}
	return 1 - p
}

// beyond returns the probability that a standard t is larger than y ≥ 0.
func (s student) beyond(y float64) float64 {
	if s.gaussian() {
		return 0.5 * math.Erfc(y/math.Sqrt2)
	}
	square := y * y
	switch {
	case math.IsNaN(y):
		return y
	case square < 1: // no cancellation
		return 0.5 - 0.5*mathext.RegIncBeta(0.5, s.dof/2, square/(s.dof+square))
	}
	return 0.5 * mathext.RegIncBeta(s.dof/2, 0.5, 1/(1+square/s.dof))
}

// variance returns the variance.
func (s student) variance() float64 {
	square := 1.0
	if !s.gaussian() {
		square = s.dof / (s.dof - 2)
	}
	u := s.unit()
	return s.scale * s.scale * (square*(u.left*u.left-1+u.right*u.right) - u.mean*u.mean)
}

// draw returns a draw.
func (s student) draw(rng *rand.Rand) float64 {
	t := s.standard(rng)
	if s.skew == 0 {
		return s.scale * t
	}
	u := s.unit()
	if rng.Float64() < u.share(u.left) {
		return s.scale * (-u.left*math.Abs(t) - u.mean)
	}
	return s.scale * (u.right*math.Abs(t) - u.mean)
}

// standard returns a draw of the standard t, by the polar method of Bailey (1994, Mathematics of Computation 62,
// 779–781).
func (s student) standard(rng *rand.Rand) float64 {
	if s.gaussian() {
		return rng.NormFloat64()
	}
	for {
		u, v := 2*rng.Float64()-1, 2*rng.Float64()-1
		if r := u*u + v*v; r > 0 && r <= 1 {
			return u * math.Sqrt(s.dof*math.Expm1(-2/s.dof*math.Log(r))/r)
		}
	}
}

// crps returns the continuous ranked probability score ∫ (F(t) − 1{t ≥ z})² dt. Each piece contributes ∫ P(T > t)² dt
// over its side, and the piece of z contributes twice the integral of P(T > t) up to z less; see Jordan, Krüger, Lerch
// (2019, Journal of Statistical Software 90(12), appendix A) for the integrals of Student's t.
func (s student) crps(z float64) float64 {
	u := s.unit()
	x, width := u.width(z)
	y := math.Abs(x / width)
	unit := student{dof: s.dof, scale: 1}
	top, at := math.Exp(unit.logConstant()), math.Exp(unit.logDensity(y))
	grow, square := 1.0, top-0.5/math.SqrtPi // ν/(ν−1), and ∫ P(T > t)² dt over t > 0
	if !s.gaussian() {
		// B(½, ν−½)/B(½, ν/2)² = exp(2r(ν/2) − r(ν−½))/√π with r(x) = log Γ(x+½)/Γ(x).
		beta := math.Exp(2*gammaRatio(s.dof/2)-gammaRatio(s.dof-0.5)) / math.SqrtPi
		grow, square = s.dof/(s.dof-1), (top*s.dof-math.Sqrt(s.dof)*beta)/(s.dof-1)
		at *= 1 + y*y/s.dof
	}
	upTo := y*s.beyond(y) + grow*(top-at)
	left, right := u.share(u.left), u.share(u.right)
	both := 4 * square * (left*left*u.left + right*right*u.right)
	return s.scale * (width*(y-4*u.share(width)*upTo) + both)
}
