package likelihood

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// mixture is y = f + s·ε, where ε has a mixture of K Gaussians with mean 0 and variance 1. The parameters are free;
// weights, shifts and scales follow from them: w = softmax(logits), the shifts less their weighted mean, and all
// shifts and scales divided by the standard deviation that remains.
type mixture struct {
	realNumber
	logScale  *graph.Param                  // log s, shape [1]
	logits    *graph.Param                  // of the weights, shape [K]
	shifts    *graph.Param                  // of the parts before their mean is taken off, shape [K]
	logScales *graph.Param                  // of the parts, shape [K]
	last      *atomic.Pointer[givenMixture] // of the parameters that Given saw last
}

// newMixture returns the mixture of noise with these weights, shifts and scales, whose weighted mean need not be 0.
func newMixture(weights, shifts, scales []float64, dt tensor.Dtype) mixture {
	k := len(weights)
	mean, second := 0.0, 0.0
	for i, w := range weights {
		mean += w * shifts[i]
		second += w * (shifts[i]*shifts[i] + scales[i]*scales[i])
	}
	logs := func(v []float64) []float64 {
		out := slices.Clone(v)
		kernel.Log(out, out)
		return out
	}
	return mixture{
		realNumber{},
		graph.NewParam("noise.log_scale", []float64{0.5 * math.Log(second-mean*mean)}, dt, 1),
		graph.NewParam("noise.logits", logs(weights), dt, k),
		graph.NewParam("noise.shifts", shifts, dt, k),
		graph.NewParam("noise.log_scales", logs(scales), dt, k),
		new(atomic.Pointer[givenMixture]),
	}
}

// String implements Scalar.
func (mixture) String() string { return "mixture" }

// Params implements Scalar.
func (m mixture) Params() []*graph.Param {
	return []*graph.Param{m.logScale, m.logits, m.shifts, m.logScales}
}

// Copy implements Scalar.
func (m mixture) Copy(dt tensor.Dtype) Scalar {
	return mixture{m.realNumber, m.logScale.Copy(dt), m.logits.Copy(dt), m.shifts.Copy(dt), m.logScales.Copy(dt), new(atomic.Pointer[givenMixture])}
}

// NoiseVariance implements ScalarNoise: s², the variance of the noise.
func (m mixture) NoiseVariance() float64 { return math.Exp(2 * m.logScale.At(0)) }

// WithNoise implements ScalarNoise.
func (m mixture) WithNoise(variance float64) Scalar {
	c := m.Copy(tensor.Float64).(mixture)
	c.logScale.Set(0, 0.5*math.Log(variance))
	return c
}

// nodes are the logarithms of the weights, the shifts and the variances of the parts, in the units of y, [K].
func (m mixture) nodes(b *graph.Builder) (logW, shifts, variances *graph.Node) {
	logW = b.LogSoftmax(b.Param(m.logits))
	w, raw := b.Exp(logW), b.Param(m.shifts)
	centred := b.Sub(raw, b.SumTo(b.Mul(w, raw), 1))
	squares := b.Exp(b.Scale(b.Param(m.logScales), 2))
	second := b.SumTo(b.Mul(w, b.Add(squares, b.Square(centred))), 1)
	variance := b.Exp(b.Scale(b.Param(m.logScale), 2))
	unit := b.Div(variance, second)
	return logW, b.Mul(centred, b.Sqrt(unit)), b.Mul(squares, unit)
}

// Node implements Scalar: log Σ_k w_k N(y; f + δ_k, s_k²).
func (m mixture) Node(b *graph.Builder, y []*graph.Node, f *graph.Node) *graph.Node {
	return m.density(b, b.Sub(y[0], f), nil)
}

// Objective implements [Objective]: for α = 1 log Σ_k w_k N(y; m + δ_k, q + s_k²).
func (m mixture) Objective(b *graph.Builder, y []*graph.Node, mean, q *graph.Node, alpha float64) *graph.Node {
	if alpha != 1 {
		return nil
	}
	return m.density(b, b.Sub(y[0], mean), q)
}

// density is log Σ_k w_k N(r; δ_k, q + s_k²) of residuals r; q may be nil for 0.
func (m mixture) density(b *graph.Builder, r, q *graph.Node) *graph.Node {
	logW, shifts, variances := m.nodes(b)
	if b.Err() != nil {
		return nil
	}
	column := func(n *graph.Node) *graph.Node { return b.Reshape(n, append(n.Shape().Clone(), 1)...) }
	if q != nil {
		variances = b.Add(variances, column(q))
	}
	parts := b.Add(logNormal(b, b.Square(b.Sub(column(r), shifts)), variances), logW)
	return b.Reshape(b.LogSumExp(parts), r.Shape()...)
}

// LogPrior implements [Prior]: N(0, 1) for the logits, the shifts and the logarithms of the scales, so that no part
// settles on a single row.
func (m mixture) LogPrior(b *graph.Builder) *graph.Node {
	var sum *graph.Node
	for _, p := range []*graph.Param{m.logits, m.shifts, m.logScales} {
		sum = b.Plus(sum, b.SumTo(b.Scale(b.Square(b.Param(p)), -0.5), 1))
	}
	return sum
}

// Rough implements [Rough]: the logarithm of a sum of several Gaussians bends where one takes the lead of the next.
func (m mixture) Rough() bool { return m.logits.Value.Shape()[0] > 1 }

// Given implements Scalar.
func (m mixture) Given() Conditional { return m.given() }

func (m mixture) given() *givenMixture {
	raw := make([]float64, 0, 16)
	for _, p := range m.Params() {
		raw = append(raw, p.Floats()...)
	}
	if g := m.last.Load(); g != nil && slices.Equal(g.raw, raw) {
		return g
	}
	k := (len(raw) - 1) / 3
	logits, shifts, logScales := raw[1:1+k], raw[1+k:1+2*k], raw[1+2*k:]
	g := &givenMixture{raw: raw, normals: normals{w: make([]float64, k), mean: make([]float64, k), variance: make([]float64, k)}}
	kernel.Softmax(g.w, logits)
	mean := kernel.Dot(g.w, shifts)
	second := 0.0
	for i, w := range g.w {
		g.mean[i], g.variance[i] = shifts[i]-mean, math.Exp(2*logScales[i])
		second += w * (g.mean[i]*g.mean[i] + g.variance[i])
	}
	unit := math.Exp(2*raw[0]) / second
	kernel.Scale(g.mean, math.Sqrt(unit), g.mean)
	kernel.Scale(g.variance, unit, g.variance)
	g.information = sync.OnceValue(g.fisher)
	m.last.Store(g)
	return g
}

// LogPredictive implements Predictive.
func (m mixture) LogPredictive(y []float64, mean, q float64) float64 {
	return m.Predict(mean, q).LogDensity(y[0])
}

// Predict implements Predictive.
func (m mixture) Predict(mean, q float64) Distribution {
	d := m.given().normals
	d.at, d.q = mean, max(q, 0)
	return d
}

// givenMixture is the mixture for known parameters.
type givenMixture struct {
	normals
	raw         []float64      // the parameters
	information func() float64 // returns Λ, which only some callers need
}

// LogDensity implements Conditional.
func (g *givenMixture) LogDensity(y []float64, f float64) float64 {
	return g.normals.LogDensity(y[0] - f)
}

// Slope implements Conditional.
func (g *givenMixture) Slope(y []float64, f float64) float64 { return -g.slope(y[0] - f) }

// Curvature implements Conditional: ∫ (p′)²/p, a constant.
func (g *givenMixture) Curvature(float64) float64 { return g.information() }

// Mean implements Conditional.
func (g *givenMixture) Mean(f float64) float64 { return f }

// Variance implements Conditional.
func (g *givenMixture) Variance(float64) float64 { return g.normals.Variance() }

// CDF implements Conditional.
func (g *givenMixture) CDF(y, f float64) float64 { return g.normals.CDF(y - f) }

// fisher is ∫ (p′)²/p = Σ_k w_k E_k (log p)′ ², over each part N(δ_k, s_k²) by the trapezoid rule.
func (g *givenMixture) fisher() float64 {
	const half = 200
	sum, h := 0.0, reach/half
	for k, w := range g.w {
		sd := math.Sqrt(g.variance[k])
		for i := -half; i <= half; i++ {
			u := h * float64(i)
			slope := g.slope(g.mean[k] + sd*u)
			sum += w * h * math.Exp(-0.5*u*u) / math.Sqrt(2*math.Pi) * slope * slope
		}
	}
	return sum
}

// mixtureSettings are the settings of a mixture.
type mixtureSettings struct {
	Parts int `set:"parts" default:"3" min:"1" max:"20" help:"number of Gaussians"`
}

// Start implements Settings: parts of different shifts and scales, with variance 1 together.
func (s *mixtureSettings) Start(int, []float64) (Likelihood, error) {
	n := cmp.Or(s.Parts, 3)
	weights, shifts, scales := make([]float64, n), make([]float64, n), make([]float64, n)
	for k := range n {
		at := float64(2*k-n+1) / float64(n)
		weights[k], shifts[k], scales[k] = 1/float64(n), 0.5*at, math.Exp(0.5*at)
	}
	m := newMixture(weights, shifts, scales, tensor.Float64)
	m.logScale.Set(0, 0)
	return Each(m), nil
}
