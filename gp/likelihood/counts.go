package likelihood

import (
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

// Variance implements Distribution: E μ + E μ²/r + Var μ, with E μ² = (E μ)² e^q.
func (d counts) Variance() float64 {
	mean, q := d.Mean(), d.sd*d.sd
	return mean + mean*mean*(math.Expm1(q)+math.Exp(q)/d.of.size)
}

// CDF implements Distribution.
func (d counts) CDF(y float64) float64 {
	if y < 0 {
		return 0
	}
	return d.mixed.CDF(y)
}

// mostWork is the number of probabilities p(k | f) that a quantile sums before it searches by the CDF instead.
const mostWork = 20000

// Quantile implements Distribution. Small counts are summed up from 0 on, with p(k | f) from p(k−1 | f).
func (d counts) Quantile(p float64) float64 {
	top := d.Mean() + 12*math.Sqrt(d.Variance()) + 10
	h := min(0.4, 0.8/(d.sd*math.Sqrt(top+1)))
	n := 2*math.Ceil(reach/h) + 1
	if d.sd == 0 {
		n = 1
	}
	if !(n*top <= mostWork) {
		return wholeQuantile(d.CDF, p)
	}
	prob, rate := make([]float64, int(n)), make([]float64, int(n))
	for i := range prob {
		u := h * (float64(i) - (n-1)/2)
		f := d.mean + d.sd*u
		weight := h / math.Sqrt(2*math.Pi) * math.Exp(-0.5*u*u)
		if n == 1 {
			weight = 1
		}
		prob[i], rate[i] = weight*math.Exp(d.of.LogDensity([]float64{0}, f)), d.of.Curvature(f)
	}
	sum := 0.0
	for k := 0.0; k <= top; k++ {
		for i, v := range prob {
			sum += v
			prob[i] = v * rate[i] * (1 + k/d.of.size) / (k + 1)
		}
		if sum >= p {
			return k
		}
	}
	return wholeQuantile(d.CDF, p)
}

// Draw implements Distribution.
func (d counts) Draw(rng *rand.Rand) float64 {
	mean := math.Exp(d.mean + d.sd*rng.NormFloat64())
	if size := d.of.size; !math.IsInf(size, 1) {
		mean = distuv.Gamma{Alpha: size, Beta: size / mean, Src: rng}.Rand()
	}
	if !(mean > 0) {
		return 0
	}
	return distuv.Poisson{Lambda: mean, Src: rng}.Rand()
}
