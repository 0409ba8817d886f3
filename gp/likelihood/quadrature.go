package likelihood

import (
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/graph"
	"gonum.org/v1/gonum/integrate/quad"
)

// points is the number of points of the Gauss–Hermite quadrature over the latent value.
const points = 64

// hermite are the points x and the logarithms of the weights w with E[g(f)] ≈ Σ w g(m + √q x) for
// f ~ N(m, q).
var hermite = func() (h struct{ x, logW [points]float64 }) {
	x, w := make([]float64, points), make([]float64, points)
	quad.Hermite{}.FixedLocations(x, w, math.Inf(-1), math.Inf(1))
	for i := range x {
		// The weights of gonum are those of ∫ g(t) dt, with e^{t²} in them.
		h.x[i], h.logW[i] = math.Sqrt2*x[i], math.Log(w[i])-x[i]*x[i]-0.5*math.Log(math.Pi)
	}
	return h
}()

// quadratureTerm is the data term of each element by quadrature, see [Objective]. The square root of q is
// taken of q + 1e-30, so that its slope is finite where q is 0.
func quadratureTerm(b *graph.Builder, s Scalar, y []*graph.Node, mean, q *graph.Node, alpha float64) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	shape := append(append([]int(nil), mean.Shape()...), points)
	wide := func(n *graph.Node) *graph.Node {
		return b.BroadcastTo(b.Reshape(n, append(append([]int(nil), n.Shape()...), 1)...), shape...)
	}
	at := func(v [points]float64) *graph.Node { return b.BroadcastTo(b.Const("", v[:], 1, 1, points), shape...) }
	f := b.Add(wide(mean), b.Mul(wide(b.Sqrt(b.Affine(q, 1, 1e-30))), at(hermite.x)))
	parts := make([]*graph.Node, len(y))
	for i, n := range y {
		parts[i] = wide(n)
	}
	logp := s.Node(b, parts, f)
	if alpha == 0 {
		var w [points]float64
		for i, v := range hermite.logW {
			w[i] = math.Exp(v)
		}
		return b.Reshape(b.SumAxis(b.Mul(logp, at(w)), 2), mean.Shape()...)
	}
	return b.Scale(logSumExp(b, b.Add(b.Scale(logp, alpha), at(hermite.logW))), 1/alpha)
}

// logSumExp is log Σ exp over the last axis of x [B,C,K], [B,C]: x − log softmax(x) is the same at each k.
func logSumExp(b *graph.Builder, x *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	s := x.Shape()
	flat := b.Reshape(x, s[0]*s[1], s[2])
	p := b.Sub(flat, b.LogSoftmax(flat))
	return b.Reshape(b.Slice(p, 1, 0, 1), s[0], s[1])
}

// logPredictive is log ∫ p(y | f) N(f; m, q) df of one output.
func logPredictive(s Scalar, y []float64, m, q float64) float64 {
	if p, ok := s.(Predictive); ok {
		return p.LogPredictive(y, m, q)
	}
	given, terms, sd := s.Given(), make([]float64, points), math.Sqrt(max(q, 0))
	for i, x := range hermite.x {
		terms[i] = hermite.logW[i] + given.LogDensity(y, m+sd*x)
	}
	return LogSumExp(terms)
}

// mixed is the predictive distribution by quadrature: a mixture of p(y | f) over latent values.
type mixed struct {
	given    Conditional
	kind     Kind
	mean, sd float64 // of the latent value
}

func newMixed(s Scalar, mean, variance float64) mixed {
	return mixed{s.Given(), s.Kind(), mean, math.Sqrt(max(variance, 0))}
}

// expect returns the mean of g(f).
func (d mixed) expect(g func(f float64) float64) float64 {
	if d.sd == 0 {
		return g(d.mean)
	}
	sum := 0.0
	for i, x := range hermite.x {
		sum += math.Exp(hermite.logW[i]) * g(d.mean+d.sd*x)
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
func (d mixed) LogDensity(y float64) float64 {
	terms := make([]float64, points)
	for i, x := range hermite.x {
		terms[i] = hermite.logW[i] + d.given.LogDensity([]float64{y}, d.mean+d.sd*x)
	}
	return LogSumExp(terms)
}

// CDF implements Distribution.
func (d mixed) CDF(y float64) float64 {
	return min(max(d.expect(func(f float64) float64 { return d.given.CDF(y, f) }), 0), 1)
}

// Quantile implements Distribution.
func (d mixed) Quantile(p float64) float64 {
	if d.kind == Number {
		return quantile(d.CDF, p, d.Mean(), math.Sqrt(d.Variance()))
	}
	return wholeQuantile(d.CDF, p)
}

// Draw implements Distribution: the quantile of a random probability.
func (d mixed) Draw(rng *rand.Rand) float64 { return d.Quantile(max(rng.Float64(), 0x1p-60)) }

// quantile solves cdf(y) = p by bisection between brackets that start at centre and grow from scale on.
func quantile(cdf func(float64) float64, p, centre, scale float64) float64 {
	if !(scale > 0) || math.IsInf(scale, 0) {
		scale = 1
	}
	lo, hi := centre-scale, centre+scale
	for step := scale; cdf(lo) >= p; step *= 2 {
		lo -= step
	}
	for step := scale; cdf(hi) < p; step *= 2 {
		hi += step
	}
	for {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			return hi
		}
		if cdf(mid) >= p {
			hi = mid
		} else {
			lo = mid
		}
	}
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
