package likelihood

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/graph"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
	"gorgonia.org/tensor"
)

// count is a model of counts with the mean μ = e·exp(f) for an exposure e: Poisson's, or the negative binomial
// of size r with the variance μ + μ²/r. Predictions are those for the exposure 1.
type count struct {
	exposure bool         // the target of an output is a count and its exposure
	logSize  *graph.Param // log r, shape [1]; nil for Poisson's
}

// String implements Scalar.
func (m count) String() string {
	if m.logSize == nil {
		return "poisson"
	}
	return "negative-binomial"
}

// Kind implements Scalar.
func (count) Kind() Kind { return Count }

// Width implements Scalar.
func (m count) Width() int {
	if m.exposure {
		return 2
	}
	return 1
}

// Check implements Scalar.
func (m count) Check(y []float64) error {
	if !(y[0] >= 0) || y[0] != math.Floor(y[0]) || math.IsInf(y[0], 1) {
		return fmt.Errorf("%g, expected a count: 0, 1, 2, …", y[0])
	}
	if m.exposure && (!(y[1] > 0) || math.IsInf(y[1], 1)) {
		return fmt.Errorf("%g with the exposure %g, expected a positive exposure", y[0], y[1])
	}
	return nil
}

// Params implements Scalar.
func (m count) Params() []*graph.Param {
	if m.logSize == nil {
		return nil
	}
	return []*graph.Param{m.logSize}
}

// Copy implements Scalar.
func (m count) Copy(dt tensor.Dtype) Scalar { return count{m.exposure, m.logSize.Copy(dt)} }

func newSize(r float64) *graph.Param {
	return graph.NewParam("count.log_size", []float64{math.Log(r)}, tensor.Float64, 1)
}

// logMean is f + log e.
func (m count) logMean(b *graph.Builder, y []*graph.Node, f *graph.Node) *graph.Node {
	if m.exposure {
		return b.Add(f, b.Log(y[1]))
	}
	return f
}

// Node implements Scalar: y log μ − μ − log y! of Poisson's. The negative binomial has, with z = log μ/r,
// log Γ(y+r)/Γ(r) − log y! + y z − (y+r) log(1 + e^z).
func (m count) Node(b *graph.Builder, y []*graph.Node, f *graph.Node) *graph.Node {
	f = m.logMean(b, y, f)
	factorial := b.LogGamma(b.Affine(y[0], 1, 1))
	if m.logSize == nil {
		mean := b.Exp(b.Clip(f, math.Inf(-1), mostLogMean(b.Dtype())))
		return b.Sub(b.Sub(b.Mul(y[0], f), mean), factorial)
	}
	logSize := b.Param(m.logSize)
	size, z := b.Exp(logSize), b.Sub(f, logSize)
	sum := b.Sub(b.Mul(y[0], z), b.Mul(b.Add(y[0], size), b.Softplus(z)))
	return b.Add(sum, b.Sub(b.LogRising(size, y[0]), factorial))
}

// mostLogMean bounds the logarithm of a mean a little below the largest number, e^88.7 in float32 and e^709.8 in float64. A point
// of a quadrature beyond it has no weight, and an infinite mean there would make slopes NaN.
func mostLogMean(dt tensor.Dtype) float64 {
	if dt == tensor.Float32 {
		return 80
	}
	return 700
}

// LogPrior implements [Prior]: N(log 10, 3²) for the logarithm of the size, which is infinite for Poisson's counts.
func (m count) LogPrior(b *graph.Builder) *graph.Node {
	if m.logSize == nil {
		return b.Fill(0, 1)
	}
	return b.Scale(b.Square(b.Affine(b.Param(m.logSize), 1, -math.Log(10))), -0.5/9)
}

// Objective implements [Objective]: the mean of exp(f) is exp(m + q/2).
func (m count) Objective(b *graph.Builder, y []*graph.Node, mean, q *graph.Node, alpha float64) *graph.Node {
	if alpha != 0 || m.logSize != nil {
		return nil
	}
	f := m.logMean(b, y, mean)
	return b.Sub(b.Sub(b.Mul(y[0], f), b.Exp(b.Add(f, b.Scale(q, 0.5)))), b.LogGamma(b.Affine(y[0], 1, 1)))
}

// Given implements Scalar.
func (m count) Given() Conditional { return m.given() }

func (m count) given() givenCount {
	if m.logSize == nil {
		return givenCount{size: math.Inf(1)}
	}
	return givenCount{math.Exp(m.logSize.At(0)), m.logSize.At(0)}
}

// Predict implements Predictive.
func (m count) Predict(mean, q float64) Distribution {
	given, sd := m.given(), math.Sqrt(max(q, 0))
	return counts{mixed{given, Count, mean, sd}, given}
}

// givenCount is p(y | f) for a known size, which is infinite for Poisson's.
type givenCount struct{ size, logSize float64 }

// LogDensity implements Conditional.
func (g givenCount) LogDensity(y []float64, f float64) float64 {
	n := y[0]
	if !(n >= 0) || n != math.Floor(n) {
		return math.Inf(-1)
	}
	f += logExposure(y)
	factorial, _ := math.Lgamma(n + 1)
	if math.IsInf(g.size, 1) {
		return n*f - math.Exp(f) - factorial
	}
	z := f - g.logSize
	return graph.LogRising(g.size, n) - factorial + n*z - (n+g.size)*softplus(z)
}

// Slope implements Conditional: y − μ, times r/(r+μ).
func (g givenCount) Slope(y []float64, f float64) float64 {
	f += logExposure(y)
	if math.IsInf(g.size, 1) {
		return y[0] - math.Exp(f)
	}
	z := f - g.logSize
	return y[0]*sigmoid(-z) - g.size*sigmoid(z)
}

// Curvature implements Conditional: μ, for a size r rμ/(r+μ).
func (g givenCount) Curvature(f float64) float64 {
	if math.IsInf(g.size, 1) {
		return math.Exp(f)
	}
	return g.size * sigmoid(f-g.logSize)
}

// Mean implements Conditional.
func (g givenCount) Mean(f float64) float64 { return math.Exp(f) }

// Variance implements Conditional: μ + μ²/r.
func (g givenCount) Variance(f float64) float64 {
	return math.Exp(f) + math.Exp(2*f-math.Log(g.size))
}

// CDF implements Conditional: the incomplete Γ function, or with a size the incomplete beta function.
func (g givenCount) CDF(y, f float64) float64 {
	switch {
	case y < 0:
		return 0
	case f < -700:
		return 1
	case f > 700:
		return 0
	case math.IsInf(g.size, 1):
		return mathext.GammaIncRegComp(math.Floor(y)+1, math.Exp(f))
	}
	return mathext.RegIncBeta(g.size, math.Floor(y)+1, sigmoid(g.logSize-f))
}

// logExposure is the logarithm of the exposure, the second number of a target if it has one.
func logExposure(y []float64) float64 {
	if len(y) > 1 {
		return math.Log(y[1])
	}
	return 0
}

// poissonSettings are the settings of Poisson counts.
type poissonSettings struct {
	Exposure bool `set:"exposure" help:"the target of each output is a count and its exposure, such as a time or an area"`
}

// Start implements Settings.
func (s *poissonSettings) Start(int, []float64) (Likelihood, error) {
	return Each(count{exposure: s.Exposure}), nil
}

// negativeBinomialSettings are the settings of counts with more variance than Poisson's.
type negativeBinomialSettings struct {
	Exposure bool `set:"exposure" help:"the target of each output is a count and its exposure, such as a time or an area"`
}

// Start implements Settings: the size for which μ + μ²/r is the variance of the targets, with one mean for all.
func (s *negativeBinomialSettings) Start(_ int, y []float64) (Likelihood, error) {
	m := count{exposure: s.Exposure}
	var values []float64
	for i := 0; i < len(y); i += m.Width() {
		values = append(values, y[i])
	}
	size := 2.0
	if len(values) > 1 {
		mean, variance := stat.MeanVariance(values, nil)
		size = min(max(mean*mean/max(variance-mean, 1e-3), 0.1), 100)
	}
	m.logSize = newSize(size)
	return Each(m), nil
}
