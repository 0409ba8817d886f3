package likelihood

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// Open stands for a bound that a target of the model censored does not have: −Open for a lower bound, Open for an
// upper bound. Data terms and finite checks need finite numbers; every bound beyond ±1e20 counts as open,
// and infinities count as open wherever targets are numbers and not nodes.
const Open = 1e30

// openFrom is the absolute value of a bound from which on it counts as open.
const openFrom = 1e20

// censored is y = f + ε with ε ~ N(0, σ²), of which a lower and an upper bound are known, equal where y was seen.
type censored struct {
	logScale *graph.Param // log σ, shape [1]
}

func newCensored(sigma float64, dt tensor.Dtype) censored {
	return censored{graph.NewParam("noise.log_scale", []float64{math.Log(sigma)}, dt, 1)}
}

// String implements Scalar.
func (censored) String() string { return "censored" }

// Kind implements Scalar.
func (censored) Kind() Kind { return Number }

// Width implements Scalar.
func (censored) Width() int { return 2 }

// Check implements Scalar.
func (censored) Check(y []float64) error {
	lower, upper := boundsOf(y)
	switch {
	case !(lower <= upper):
		return fmt.Errorf("bounds %g and %g, expected a lower and an upper bound", y[0], y[1])
	case math.IsInf(lower, 0) && math.IsInf(upper, 0):
		return fmt.Errorf("bounds %g and %g, expected one bound that is not open", y[0], y[1])
	}
	return nil
}

// Params implements Scalar.
func (m censored) Params() []*graph.Param { return []*graph.Param{m.logScale} }

// Copy implements Scalar.
func (m censored) Copy(dt tensor.Dtype) Scalar { return censored{m.logScale.Copy(dt)} }

func (m censored) sigma() float64 { return math.Exp(m.logScale.At(0)) }

// NoiseVariance implements ScalarNoise: σ².
func (m censored) NoiseVariance() float64 { return math.Exp(2 * m.logScale.At(0)) }

// WithNoise implements ScalarNoise.
func (censored) WithNoise(variance float64) Scalar {
	return newCensored(math.Sqrt(variance), tensor.Float64)
}

// Node implements Scalar.
func (m censored) Node(b *graph.Builder, y []*graph.Node, f *graph.Node) *graph.Node {
	return m.density(b, y, f, b.Exp(b.Scale(b.Param(m.logScale), 2)))
}

// Objective implements [Objective]: for α = 1 the density with the variance σ² + q.
func (m censored) Objective(b *graph.Builder, y []*graph.Node, mean, q *graph.Node, alpha float64) *graph.Node {
	if alpha != 1 {
		return nil
	}
	return m.density(b, y, mean, b.Add(q, b.Exp(b.Scale(b.Param(m.logScale), 2))))
}

// density is log N(y; f, v) where y was seen and log[Φ(u) − Φ(l)] elsewhere, with standardised bounds. Where 0 is below
// the middle of the bounds, they change sides and signs, so that both lie in the lower tail, where log Φ has all
// its digits. A bound that is missing has the value of the other one, and its terms have the factor 0.
func (m censored) density(b *graph.Builder, y []*graph.Node, f, v *graph.Node) *graph.Node {
	not := func(n *graph.Node) *graph.Node { return b.Affine(n, -1, 1) }
	below, above := b.Step(b.Affine(y[0], -1, -openFrom)), b.Step(b.Affine(y[1], 1, -openFrom))
	closed, apart := b.Mul(not(below), not(above)), b.Step(b.Sub(y[1], y[0]))
	low, high := b.Mul(y[0], not(below)), b.Mul(y[1], not(above))
	low, high = b.Add(low, b.Mul(below, high)), b.Add(high, b.Mul(above, low))
	sd := b.Sqrt(v)
	lower, upper := b.Div(b.Sub(low, f), sd), b.Div(b.Sub(high, f), sd)
	sum := b.Add(lower, upper)
	flip := b.Mul(b.Add(above, b.Mul(closed, b.Step(sum))), sum)
	lower, upper = b.Sub(lower, flip), b.Sub(upper, flip)
	interval := b.Mul(closed, apart)
	logUpper := b.LogPhi(upper)
	gap := b.Add(b.Mul(interval, b.Sub(logUpper, b.LogPhi(lower))), not(interval)) // elsewhere 1, whose complement is finite
	hidden := b.Add(logUpper, b.Mul(interval, logComplement(b, gap)))
	seen := logNormal(b, b.Square(b.Sub(low, f)), b.BroadcastTo(v, f.Shape()...))
	return b.Add(b.Mul(apart, hidden), b.Mul(not(apart), seen))
}

// Given implements Scalar.
func (m censored) Given() Conditional { return givenCensored(m.sigma()) }

// LogPredictive implements Predictive.
func (m censored) LogPredictive(y []float64, mean, q float64) float64 {
	return givenCensored(math.Sqrt(m.NoiseVariance()+max(q, 0))).LogDensity(y, mean)
}

// Predict implements Predictive: the distribution of the value itself, N(mean, q + σ²).
func (m censored) Predict(mean, q float64) Distribution {
	return Normal{Mu: mean, Sigma: math.Sqrt(m.NoiseVariance() + max(q, 0))}
}

// givenCensored is a known σ.
type givenCensored float64

// boundsOf returns the bounds of a target, infinite where they are open. A target of one number was seen.
func boundsOf(y []float64) (lower, upper float64) {
	lower, upper = y[0], y[len(y)-1]
	if lower < -openFrom {
		lower = math.Inf(-1)
	}
	if upper > openFrom {
		upper = math.Inf(1)
	}
	return lower, upper
}

// LogDensity implements Conditional.
func (g givenCensored) LogDensity(y []float64, f float64) float64 {
	lower, upper := boundsOf(y)
	if lower == upper {
		return Normal{f, float64(g)}.LogDensity(lower)
	}
	return logInterval((lower-f)/float64(g), (upper-f)/float64(g))
}

// logInterval is log[Φ(upper) − Φ(lower)].
func logInterval(lower, upper float64) float64 {
	if lower+upper > 0 {
		lower, upper = -upper, -lower
	}
	top := graph.LogPhi(upper)
	return top + math.Log(-math.Expm1(graph.LogPhi(lower)-top))
}

// Slope implements Conditional: [φ(l) − φ(u)]/[Φ(u) − Φ(l)]/σ.
func (g givenCensored) Slope(y []float64, f float64) float64 {
	sigma := float64(g)
	lower, upper := boundsOf(y)
	l, u := (lower-f)/sigma, (upper-f)/sigma
	if l == u {
		return u / sigma
	}
	total := logInterval(l, u) + 0.5*math.Log(2*math.Pi)
	return (math.Exp(-0.5*l*l-total) - math.Exp(-0.5*u*u-total)) / sigma
}

// Curvature implements Conditional: 1/σ², the curvature where the value is seen, which no bounds exceed. The curvature of an
// interval is smaller, but it is not in proportion to 1/σ², as the searches for the scale of a [LocationScale] expect.
func (g givenCensored) Curvature(float64) float64 { return 1 / float64(g*g) }

// Mean implements Conditional.
func (givenCensored) Mean(f float64) float64 { return f }

// Variance implements Conditional.
func (g givenCensored) Variance(float64) float64 { return float64(g * g) }

// CDF implements Conditional.
func (g givenCensored) CDF(y, f float64) float64 { return Normal{f, float64(g)}.CDF(y) }

// censoredSettings are the settings of the censored Gaussian.
type censoredSettings struct{}

// Start implements Settings: targets are scaled to variance 1.
func (*censoredSettings) Start(int, []float64) (Likelihood, error) {
	return Each(newCensored(1, tensor.Float64)), nil
}
