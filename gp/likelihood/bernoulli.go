package likelihood

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// bernoulli is a yes or no with P(Y = 1 | f) = σ(f) = 1/(1 + e^−f).
type bernoulli struct{}

// String implements Scalar.
func (bernoulli) String() string { return "bernoulli" }

// Kind implements Scalar.
func (bernoulli) Kind() Kind { return Binary }

// Width implements Scalar.
func (bernoulli) Width() int { return 1 }

// Check implements Scalar.
func (bernoulli) Check(y []float64) error {
	if y[0] != 0 && y[0] != 1 {
		return fmt.Errorf("%g, expected 0 or 1", y[0])
	}
	return nil
}

// Params implements Scalar: there are none.
func (bernoulli) Params() []*graph.Param { return nil }

// Copy implements Scalar.
func (m bernoulli) Copy(tensor.Dtype) Scalar { return m }

// Node implements Scalar: −log(1 + e^∓f).
func (bernoulli) Node(b *graph.Builder, y []*graph.Node, f *graph.Node) *graph.Node {
	return b.Neg(b.Softplus(b.Mul(b.Affine(y[0], -2, 1), f)))
}

// Given implements Scalar.
func (bernoulli) Given() Conditional { return givenBernoulli{yesOrNo} }

// Predict implements Predictive.
func (m bernoulli) Predict(mean, q float64) Distribution { return finiteOf(m.Given(), 2, mean, q) }

// givenBernoulli is p(y | f): an ordered class with the threshold 0, whose densities and moments have shorter forms.
type givenBernoulli struct{ givenOrdinal }

// yesOrNo is the threshold.
var yesOrNo = givenOrdinal{0}

// LogDensity implements Conditional.
func (givenBernoulli) LogDensity(y []float64, f float64) float64 { return -softplus((1 - 2*y[0]) * f) }

// Curvature implements Conditional: σ(f) σ(−f).
func (givenBernoulli) Curvature(f float64) float64 { return sigmoid(f) * sigmoid(-f) }

// Variance implements Conditional.
func (givenBernoulli) Variance(f float64) float64 { return sigmoid(f) * sigmoid(-f) }

// sigmoid is 1/(1 + e^−x), without overflow.
func sigmoid(x float64) float64 {
	if e := math.Exp(-math.Abs(x)); x < 0 {
		return e / (1 + e)
	} else {
		return 1 / (1 + e)
	}
}

// softplus is log(1 + eˣ), without overflow.
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// bernoulliSettings are the settings of a yes or no.
type bernoulliSettings struct{}

// Start implements Settings.
func (*bernoulliSettings) Start(int, []float64) (Likelihood, error) { return Each(bernoulli{}), nil }
