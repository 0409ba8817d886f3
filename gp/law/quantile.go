package law

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Quantile returns the value that Z exceeds with probability 1 − p. It is −∞ for p = 0, +∞ for p = 1, and NaN for a p
// outside [0,1].
func (l *Law) Quantile(p float64) float64 {
	switch {
	case !(p >= 0 && p <= 1):
		return math.NaN()
	case p == 0 || p == 1:
		return math.Inf(int(2*p) - 1)
	case l.Family == Gaussian:
		return l.Scale * mathext.NormalQuantile(p)
	case l.memo != nil:
		return l.memo.get(p, l.quantile)
	}
	return l.quantile(p)
}

// quantile computes the quantile of Student's t or of a mixture, 0 < p < 1.
func (l *Law) quantile(p float64) float64 {
	if l.Family == StudentT {
		return l.student().quantile(p)
	}
	upper, q := p > 0.5, p
	if upper {
		q = 1 - p // exact
	}
	lo, hi := l.parts().bracket(p)
	return l.invert(q, upper, lo, hi)
}

// quantile computes the quantile, 0 < p < 1.
func (s student) quantile(p float64) float64 {
	u := s.unit()
	if share := u.share(u.left); p < share {
		return s.scale * (-u.left*s.exceeded(0.5*p/share) - u.mean)
	}
	return s.scale * (u.right*s.exceeded(0.5*(1-p)/u.share(u.right)) - u.mean)
}

// exceeded returns the value that a standard t exceeds with probability q, 0 < q ≤ ½.
func (s student) exceeded(q float64) float64 {
	unit := Law{Family: StudentT, DoF: s.dof, Scale: 1}
	lo, hi := unit.student().bracket(q)
	return unit.invert(q, true, lo, hi)
}

// bracket returns the smallest and the largest of the quantiles of the parts. The quantile of the mixture lies
// between them.
func (m mixture) bracket(p float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	unit := mathext.NormalQuantile(p)
	for k, s := range m.scales {
		z := m.shifts[k] + s*unit
		lo, hi = min(lo, z), max(hi, z)
	}
	return lo, hi
}

// bracket returns an interval with the point that a standard t exceeds with probability q, for q of at most ½. It has
// heavier tails than the Gaussian, and its density at u is below c·(u²/ν)^{−(ν+1)/2}, where c is the density at 0.
func (s student) bracket(q float64) (lo, hi float64) {
	log := (s.logConstant()+0.5*(s.dof-1)*math.Log(s.dof)-math.Log(q))/s.dof + 1e-9
	return -mathext.NormalQuantile(q), math.Exp(log)
}

// invert returns the point between lo and hi where the upper or the lower tail has probability q. It takes Newton's
// steps for the log of the tail, and halves the interval where a step leaves it.
func (l *Law) invert(q float64, upper bool, lo, hi float64) float64 {
	z, sign := lo, -1.0
	if upper {
		sign = 1
	}
	small := 1e-17 * math.Sqrt(l.Variance())
	for range 200 {
		tail := l.tail(z, upper)
		excess := math.Log(tail / q)
		if sign*excess > 0 {
			lo = z
		} else {
			hi = z
		}
		next := z + sign*excess*tail/math.Exp(l.LogDensity(z))
		if !(next > lo && next < hi) {
			next = 0.5 * (lo + hi)
		}
		if math.Abs(next-z) <= 1e-15*math.Abs(z)+small {
			return next
		}
		z = next
	}
	return z
}
