package likelihood

import (
	"cmp"
	"math"
	"sync/atomic"

	"github.com/go-valla/valla/graph"
	"gonum.org/v1/gonum/mathext"
	"gorgonia.org/tensor"
)

// StudentT is y = f + s·ε, where ε has Student's t distribution of ν degrees of freedom. Given a λ with the
// distribution Gamma(ν/2, ν/2), y is N(f, s²/λ), from which the closed forms of one dimension follow.
type StudentT struct {
	realNumber
	LogScale *graph.Param // log s, shape [1]
	LogNu    *graph.Param // log ν, shape [1]; nil where ν is fixed

	fixed float64                       // ν where it is fixed
	last  *atomic.Pointer[givenStudent] // of the parameters that Given saw last
}

// NewStudentT returns a Student-t model of degrees of freedom ν and scale s, in which ν is a parameter unless fix.
func NewStudentT(nu, scale float64, fix bool, dt tensor.Dtype) StudentT {
	t := StudentT{LogScale: graph.NewParam("noise.log_scale", []float64{math.Log(scale)}, dt, 1), fixed: nu,
		last: new(atomic.Pointer[givenStudent])}
	if !fix {
		t.LogNu = graph.NewParam("noise.log_nu", []float64{math.Log(nu)}, dt, 1)
	}
	return t
}

// Nu returns ν.
func (t StudentT) Nu() float64 {
	if t.LogNu == nil {
		return t.fixed
	}
	return math.Exp(t.LogNu.At(0))
}

// Scale returns s.
func (t StudentT) Scale() float64 { return math.Exp(t.LogScale.At(0)) }

// String implements Scalar.
func (StudentT) String() string { return "student-t" }

// Params implements Scalar.
func (t StudentT) Params() []*graph.Param {
	if t.LogNu == nil {
		return []*graph.Param{t.LogScale}
	}
	return []*graph.Param{t.LogScale, t.LogNu}
}

// Copy implements Scalar.
func (t StudentT) Copy(dt tensor.Dtype) Scalar {
	return StudentT{t.realNumber, t.LogScale.Copy(dt), t.LogNu.Copy(dt), t.fixed, new(atomic.Pointer[givenStudent])}
}

// NoiseVariance implements ScalarNoise: s².
func (t StudentT) NoiseVariance() float64 { return math.Exp(2 * t.LogScale.At(0)) }

// WithNoise implements ScalarNoise.
func (t StudentT) WithNoise(variance float64) Scalar {
	c := t.Copy(tensor.Float64).(StudentT)
	c.LogScale.Set(0, 0.5*math.Log(variance))
	return c
}

// nodes are ν [1] and the logarithm of the constant C = Γ((ν+1)/2) / (Γ(ν/2) √(πν) s), and 1/(νs²).
func (t StudentT) nodes(b *graph.Builder) (nu, logC, rate *graph.Node) {
	logScale := b.Param(t.LogScale)
	logNu := b.Fill(math.Log(t.fixed), 1)
	if t.LogNu != nil {
		logNu = b.Param(t.LogNu)
	}
	nu = b.Exp(logNu)
	logC = b.Sub(b.LogRising(b.Scale(nu, 0.5), b.Fill(0.5, 1)), b.Affine(b.Add(b.Scale(logNu, 0.5), logScale), 1, 0.5*math.Log(math.Pi)))
	return nu, logC, b.Exp(b.Neg(b.Add(logNu, b.Scale(logScale, 2))))
}

// Node implements Scalar: log C − (ν+1)/2 · log(1 + (y−f)²/(νs²)).
func (t StudentT) Node(b *graph.Builder, y []*graph.Node, f *graph.Node) *graph.Node {
	nu, logC, rate := t.nodes(b)
	x := b.Mul(b.Square(b.Sub(y[0], f)), rate)
	return b.Sub(logC, b.Mul(b.Affine(nu, 0.5, 0.5), b.Log1p(x)))
}

// LogPrior implements [Prior]: the density of 1/ν falls like exp(−5/ν), so that few rows keep the noise near Gaussian.
func (t StudentT) LogPrior(b *graph.Builder) *graph.Node {
	if t.LogNu == nil {
		return b.Fill(0, 1)
	}
	return b.Scale(b.Exp(b.Neg(b.Param(t.LogNu))), -5)
}

// Objective implements [Objective]. With X = (y−f)²/(νs²) and a = α(ν+1)/2, p^α is C^α (1+X)^−a, and
//
//	E (1+X)^−a   = ∫ λᵃ⁻¹ e^−λ φ(λ) dλ / Γ(a),
//	E log (1+X)  = ∫ e^−λ (1 − φ(λ))/λ dλ,
//	φ(λ) = E e^−λX = (1 + 2λq/(νs²))^−½ exp(−λ (y−m)²/(νs²) / (1 + 2λq/(νs²))).
func (t StudentT) Objective(b *graph.Builder, y []*graph.Node, mean, q *graph.Node, alpha float64) *graph.Node {
	nu, logC, rate := t.nodes(b)
	x, v := b.Mul(b.Square(b.Sub(y[0], mean)), rate), b.Mul(q, rate)
	half := b.Affine(nu, 0.5, 0.5)
	if alpha == 0 {
		n := newScaleNodes(b, x, v, b.Fill(1, 1), true)
		if b.Err() != nil {
			return nil
		}
		sum := b.SumAxis(b.Mul(n.tilt, b.Affine(b.Exp(n.logPhi), -1, 1)), -1)
		return b.Sub(logC, b.Mul(half, b.Reshape(sum, mean.Shape()...)))
	}
	a := b.Scale(half, alpha)
	n := newScaleNodes(b, x, v, a, false)
	if b.Err() != nil {
		return nil
	}
	base := b.Add(n.logW, b.Mul(n.tilt, b.Sub(a, b.Detach(a))))
	log := b.Sub(b.LogSumExp(b.Add(base, n.logPhi)), b.LogSumExp(base))
	return b.Add(logC, b.Scale(b.Reshape(log, mean.Shape()...), 1/alpha))
}

// Given implements Scalar.
func (t StudentT) Given() Conditional { return t.given() }

func (t StudentT) given() *givenStudent {
	nu, scale := t.Nu(), t.Scale()
	if g := t.last.Load(); g != nil && g.nu == nu && g.scale == scale {
		return g
	}
	g := &givenStudent{nu: nu, scale: scale,
		logC: graph.LogRising(nu/2, 0.5) - 0.5*math.Log(math.Pi*nu) - math.Log(scale)}
	g.central.fill(nu/2, farTail*farTail/nu)
	for i, w := range g.central.logW {
		g.weights[i] = math.Exp(w)
	}
	t.last.Store(g)
	return g
}

// LogPredictive implements Predictive.
func (t StudentT) LogPredictive(y []float64, mean, q float64) float64 {
	return t.given().logPredictive(y[0], mean, q)
}

// Predict implements Predictive.
func (t StudentT) Predict(mean, q float64) Distribution {
	return scaleMixture{t.given(), mean, max(q, 0)}
}

// givenStudent is Student's t for known parameters.
type givenStudent struct {
	nu, scale float64              // ν and s
	logC      float64              // the logarithm of the density's constant
	central   scaleGrid            // for a = ν/2
	weights   [scalePoints]float64 // of central
}

// LogDensity implements Conditional.
func (g *givenStudent) LogDensity(y []float64, f float64) float64 {
	r := (y[0] - f) / g.scale
	return g.logC - 0.5*(g.nu+1)*math.Log1p(r*r/g.nu)
}

// Slope implements Conditional.
func (g *givenStudent) Slope(y []float64, f float64) float64 {
	r := (y[0] - f) / g.scale
	return (g.nu + 1) * r / (g.scale * (g.nu + r*r))
}

// Curvature implements Conditional.
func (g *givenStudent) Curvature(float64) float64 {
	return (g.nu + 1) / ((g.nu + 3) * g.scale * g.scale)
}

// Mean implements Conditional. For ν ≤ 1, where there is no mean, it is the median.
func (g *givenStudent) Mean(f float64) float64 { return f }

// Variance implements Conditional.
func (g *givenStudent) Variance(float64) float64 {
	if g.nu <= 2 {
		return math.Inf(1)
	}
	return g.scale * g.scale * g.nu / (g.nu - 2)
}

// CDF implements Conditional.
func (g *givenStudent) CDF(y, f float64) float64 {
	r := (y - f) / g.scale
	tail := 0.5 * mathext.RegIncBeta(g.nu/2, 0.5, g.nu/(g.nu+r*r))
	if r > 0 {
		return 1 - tail
	}
	return tail
}

// studentSettings are the settings of Student's t.
type studentSettings struct {
	Nu float64 `set:"nu" auto:"learned, from 4 on" above:"0" help:"degrees of freedom, which then are not learned"`
}

// Start implements Settings: targets are scaled to variance 1.
func (s *studentSettings) Start(int, []float64) (Likelihood, error) { return Each(s.start()), nil }

func (s *studentSettings) start() StudentT {
	nu, scale := cmp.Or(s.Nu, 4), 1.0
	if nu > 2.2 {
		scale = math.Sqrt(1 - 2/nu)
	}
	return NewStudentT(nu, scale, s.Nu > 0, tensor.Float64)
}
