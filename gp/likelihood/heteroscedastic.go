package likelihood

import (
	"math"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
	"gorgonia.org/tensor"
)

// heteroscedastic is y = f + s·e^h·ε, where the second number of a target is h. Divided by e^h, targets, means and
// standard deviations are those of the noise s·ε. Predictions and curvatures are those for h = 0.
type heteroscedastic struct {
	noise Scalar // y = f + s·ε, a ScalarNoise of width 1
}

// String implements Scalar.
func (heteroscedastic) String() string { return "heteroscedastic" }

// Kind implements Scalar.
func (heteroscedastic) Kind() Kind { return Number }

// Width implements Scalar.
func (heteroscedastic) Width() int { return 2 }

// Check implements Scalar: a finite number and a scale that is neither 0 nor infinite.
func (heteroscedastic) Check(y []float64) error {
	return checkFinite([]float64{y[0], y[1], math.Exp(math.Abs(y[1]))})
}

// Params implements Scalar.
func (m heteroscedastic) Params() []*graph.Param { return m.noise.Params() }

// Copy implements Scalar.
func (m heteroscedastic) Copy(dt tensor.Dtype) Scalar { return heteroscedastic{m.noise.Copy(dt)} }

// NoiseVariance implements ScalarNoise: s².
func (m heteroscedastic) NoiseVariance() float64 { return m.noise.(ScalarNoise).NoiseVariance() }

// WithNoise implements ScalarNoise.
func (m heteroscedastic) WithNoise(variance float64) Scalar {
	return heteroscedastic{m.noise.(ScalarNoise).WithNoise(variance)}
}

// Node implements Scalar.
func (m heteroscedastic) Node(b *graph.Builder, y []*graph.Node, f *graph.Node) *graph.Node {
	k := b.Exp(b.Neg(y[1]))
	return b.Sub(m.noise.Node(b, []*graph.Node{b.Mul(y[0], k)}, b.Mul(f, k)), y[1])
}

// LogPrior implements [Prior].
func (m heteroscedastic) LogPrior(b *graph.Builder) *graph.Node {
	if p, ok := m.noise.(Prior); ok {
		return p.LogPrior(b)
	}
	return b.Fill(0, 1)
}

// Objective implements [Objective].
func (m heteroscedastic) Objective(b *graph.Builder, y []*graph.Node, mean, q *graph.Node, alpha float64) *graph.Node {
	k := b.Exp(b.Neg(y[1]))
	term := term(b, m.noise, []*graph.Node{b.Mul(y[0], k)}, b.Mul(mean, k), b.Mul(q, b.Square(k)), alpha)
	return b.Sub(term, y[1])
}

// Given implements Scalar.
func (m heteroscedastic) Given() Conditional { return givenHeteroscedastic{m.noise.Given()} }

// LogPredictive implements Predictive.
func (m heteroscedastic) LogPredictive(y []float64, mean, q float64) float64 {
	k, h := scaleOf(y)
	return logPredictive(m.noise, []float64{y[0] * k}, mean*k, q*k*k) - h
}

// Predict implements Predictive: for h = 0.
func (m heteroscedastic) Predict(mean, q float64) Distribution { return predict(m.noise, mean, q) }

// scaleOf returns e^−h and h of a target, which is 0 where the target is a single number.
func scaleOf(y []float64) (k, h float64) {
	if len(y) > 1 {
		h = y[1]
	}
	return math.Exp(-h), h
}

// givenHeteroscedastic has the functions of known noise for h = 0, apart from the density.
type givenHeteroscedastic struct{ Conditional }

// LogDensity implements Conditional.
func (g givenHeteroscedastic) LogDensity(y []float64, f float64) float64 {
	k, h := scaleOf(y)
	return g.Conditional.LogDensity([]float64{y[0] * k}, f*k) - h
}

// Slope implements Conditional.
func (g givenHeteroscedastic) Slope(y []float64, f float64) float64 {
	k, _ := scaleOf(y)
	return k * g.Conditional.Slope([]float64{y[0] * k}, f*k)
}

// heteroscedasticSettings are the settings of noise of known scales.
type heteroscedasticSettings struct {
	Tails string  `set:"tails" choice:"gaussian student-t" help:"form of the noise"`
	Nu    float64 `set:"nu" auto:"learned, from 4 on" above:"0" help:"degrees of freedom of student-t, which then are not learned"`
}

// Start implements Settings.
func (s *heteroscedasticSettings) Start(int, []float64) (Likelihood, error) {
	if s.Tails != "student-t" {
		if s.Nu > 0 {
			return nil, settings.Errorf("nu %g with Gaussian tails, expected tails student-t", s.Nu)
		}
		return Each(heteroscedastic{newMixture([]float64{1}, []float64{0}, []float64{1}, tensor.Float64)}), nil
	}
	return Each(heteroscedastic{(&studentSettings{s.Nu}).start()}), nil
}
