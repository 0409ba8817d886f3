package likelihood

import (
	"iter"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// counts is the predictive distribution of a count, a mixture over the logarithm of its mean.
type counts struct {
	mixed
	of givenCount // p(y | f), the same as in mixed
}

// Mean implements Distribution: exp(m + q/2).
func (d counts) Mean() float64 { return math.Exp(d.mean + 0.5*d.sd*d.sd) }

// Variance implements Distribution: E μ + E μ²/r + Var μ.
func (d counts) Variance() float64 {
	return d.Mean() + math.Exp(d.logSquare()-math.Log(d.of.size)) + d.epistemic()
}

// epistemic is Var μ = E μ² (1 − e^−q), 0 for q = 0.
func (d counts) epistemic() float64 {
	return math.Exp(d.logSquare() + math.Log(-math.Expm1(-d.sd*d.sd)))
}

// logSquare is log E μ² = 2 (m + q). Only the last exponential of a variance may be infinite: a product of 0 and ∞ before it
// would be NaN.
func (d counts) logSquare() float64 { return 2 * (d.mean + d.sd*d.sd) }

// CDF implements Distribution.
func (d counts) CDF(y float64) float64 {
	if y < 0 {
		return 0
	}
	if y*1e-17 > d.Mean() {
		return 1 // up to rounding, by Markov's inequality; the functions behind the CDF fail at such numbers
	}
	return d.mixed.CDF(y)
}

// mostWork is the number of probabilities p(k | f) that a quantile sums before it searches by the CDF instead, and
// mostScored the number that a CRPS sums, in some milliseconds. Where there are more, a CRPS sums the first counts, firstScored of
// them: the rest by integration is then within 2·10⁻⁶ of its sum (TestCountTails). With so few, no probability from which others
// follow underflows, unless its count is far below all mass.
const (
	mostWork    = 20000
	mostScored  = 1000000
	firstScored = 2000
)

// Quantile implements Distribution. Small counts are summed up from 0 on.
func (d counts) Quantile(p float64) float64 {
	top := d.Mean() + 12*math.Sqrt(d.Variance()) + 10
	if n, _ := d.grid(top); n*top <= mostWork {
		for k, below := range d.cumulative(top) {
			if below >= p {
				return k
			}
		}
	}
	return wholeQuantile(d.CDF, p)
}

// crps is the CRPS at y, summed up from 0 on. Where that takes more than mostScored probabilities, only the first counts are
// summed, and the others are integrated: there the steps of the CDF do not matter. Beyond the largest count of a sum the
// probability is less than 10⁻⁶.
func (d counts) crps(y float64) float64 {
	mu := math.Exp(d.mean + 5*d.sd)
	top := mu + 12*math.Sqrt(mu+mu*mu/d.of.size) + 25*mu/d.of.size + 10
	switch n, _ := d.grid(top); {
	case !(top <= math.MaxFloat32): // the probabilities are no numbers
		return integratedCRPS(d, y, Count, 0, 0)
	case n*top > mostScored:
		return integratedCRPS(d, y, Count, firstScored, d.summed(y, firstScored-1))
	}
	return d.summed(y, top) + max(0, math.Ceil(y)-math.Floor(top)-1)
}

// summed is the part of the CRPS at y of the counts up to top.
func (d counts) summed(y, top float64) (sum float64) {
	for k, r := range d.cumulative(top) {
		if k >= y {
			r = 1 - r
		}
		if sum += r * r; k >= y && r < 1e-10 {
			break
		}
	}
	return sum
}

// grid returns the number of points and the distance of a trapezoid rule over u, f = mean + sd·u, that resolves p(k | f)
// for k ≤ top.
func (d counts) grid(top float64) (n, h float64) {
	if d.sd == 0 {
		return 1, 1
	}
	h = min(0.4, 0.8/(d.sd*math.Sqrt(top+1)))
	return 2*math.Ceil(reach/h) + 1, h
}

// cumulative yields k = 0, 1, … top and P(Y ≤ k). p(k | f) follows from p(k−1 | f), from 9 standard deviations below the mean on:
// below them the mass is less than 10⁻¹⁸, and farther out p(k | f) may underflow.
func (d counts) cumulative(top float64) iter.Seq2[float64, float64] {
	return func(yield func(k, below float64) bool) {
		points, h := d.grid(top)
		n := int(points)
		prob, rate, first, f := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range prob {
			f[i] = d.mean + d.sd*h*(float64(i)-(points-1)/2)
			mu := math.Exp(f[i])
			rate[i], first[i] = d.of.Curvature(f[i]), math.Floor(max(0, mu-9*math.Sqrt(mu+mu*mu/d.of.size)))
		}
		sum, y := 0.0, make([]float64, 1)
		for k := 0.0; k <= top; k++ {
			step := (1 + k/d.of.size) / (k + 1)
			for i, v := range prob {
				if k == first[i] {
					y[0] = k
					v = d.weight(h, f[i]) * math.Exp(d.of.LogDensity(y, f[i]))
				}
				sum += v
				prob[i] = v * rate[i] * step
			}
			if !yield(k, sum) {
				return
			}
		}
	}
}

// weight is the weight of f in a trapezoid rule over u of the distance h.
func (d counts) weight(h, f float64) float64 {
	if d.sd == 0 {
		return 1
	}
	u := (f - d.mean) / d.sd
	return h / math.Sqrt(2*math.Pi) * math.Exp(-0.5*u*u)
}

// Draw implements Distribution.
func (d counts) Draw(rng *rand.Rand) float64 {
	mean := min(math.Exp(d.mean+d.sd*rng.NormFloat64()), math.MaxFloat64)
	if size := d.of.size; !math.IsInf(size, 1) {
		mean = distuv.Gamma{Alpha: size, Beta: size / mean, Src: rng}.Rand()
	}
	if !(mean > 0) {
		return 0
	}
	return distuv.Poisson{Lambda: min(mean, math.MaxFloat64), Src: rng}.Rand()
}
