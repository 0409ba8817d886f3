package likelihood

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// ordinal is an ordered class 0…K−1 with P(Y ≤ k | f) = σ(b_k − f) for increasing thresholds b (McCullagh 1980).
// The outputs of a network share the thresholds.
type ordinal struct {
	first   *graph.Param // b_0, shape [1]
	logGaps *graph.Param // log(b_k − b_{k−1}), shape [K−2]; nil for K = 2
}

// newOrdinal returns the model with these thresholds.
func newOrdinal(thresholds []float64, dt tensor.Dtype) ordinal {
	o := ordinal{first: graph.NewParam("ordinal.first", thresholds[:1], dt, 1)}
	if n := len(thresholds) - 1; n > 0 {
		gaps := make([]float64, n)
		for k := range gaps {
			gaps[k] = math.Log(thresholds[k+1] - thresholds[k])
		}
		o.logGaps = graph.NewParam("ordinal.log_gaps", gaps, dt, n)
	}
	return o
}

// thresholds returns b.
func (o ordinal) thresholds() []float64 {
	b := o.first.Floats()
	if o.logGaps != nil {
		for k, v := range o.logGaps.Floats() {
			b = append(b, b[k]+math.Exp(v))
		}
	}
	return b
}

// classes returns K.
func (o ordinal) classes() int {
	if o.logGaps == nil {
		return 2
	}
	return o.logGaps.Value.Shape()[0] + 2
}

// String implements Scalar.
func (ordinal) String() string { return "ordinal" }

// Kind implements Scalar.
func (ordinal) Kind() Kind { return Ordered }

// Width implements Scalar.
func (ordinal) Width() int { return 1 }

// Check implements Scalar.
func (o ordinal) Check(y []float64) error {
	if k := o.classes(); !(y[0] >= 0 && y[0] < float64(k)) || y[0] != math.Floor(y[0]) {
		return fmt.Errorf("%g, expected a class 0…%d", y[0], k-1)
	}
	return nil
}

// Params implements Scalar.
func (o ordinal) Params() []*graph.Param {
	if o.logGaps == nil {
		return []*graph.Param{o.first}
	}
	return []*graph.Param{o.first, o.logGaps}
}

// Copy implements Scalar.
func (o ordinal) Copy(dt tensor.Dtype) Scalar { return ordinal{o.first.Copy(dt), o.logGaps.Copy(dt)} }

// Node implements Scalar. With l = b_{y−1} − f and u = b_y − f, log p = log[σ(u) − σ(l)] is
// −log(1 + e^−u) − log(1 + e^l) + log(1 − e^−(u−l)), without the terms of a bound that the class lacks.
func (o ordinal) Node(b *graph.Builder, y []*graph.Node, f *graph.Node) *graph.Node {
	threshold, last := b.Param(o.first), o.classes()-1
	var sum *graph.Node
	add := func(n *graph.Node) { sum = b.Plus(sum, n) }
	for k := range last {
		below, above := equals(b, y[0], k), equals(b, y[0], k+1)
		upper := b.Sub(threshold, f)
		add(b.Neg(b.Mul(below, b.Softplus(b.Neg(upper)))))
		add(b.Neg(b.Mul(above, b.Softplus(upper))))
		if k < last-1 {
			gap := b.Exp(b.Slice(b.Param(o.logGaps), 0, k, k+1))
			add(b.Mul(above, logComplement(b, gap)))
			threshold = b.Add(threshold, gap)
		}
	}
	return sum
}

// LogPrior implements [Prior]: N(0, 3²) for the logarithms of the gaps, which a class without rows would close.
func (o ordinal) LogPrior(b *graph.Builder) *graph.Node {
	if o.logGaps == nil {
		return b.Fill(0, 1)
	}
	return b.SumTo(b.Scale(b.Square(b.Param(o.logGaps)), -0.5/9), 1)
}

// equals is 1 where the whole numbers y are k, and 0 elsewhere.
func equals(b *graph.Builder, y *graph.Node, k int) *graph.Node {
	return b.Sub(b.Step(b.Affine(y, 1, 0.5-float64(k))), b.Step(b.Affine(y, 1, -0.5-float64(k))))
}

// logComplement is log(1 − e^−x) for x > 0, with all digits also where x is small:
// 1 − e^−x = tanh(x/2)·(1 + e^−x).
func logComplement(b *graph.Builder, x *graph.Node) *graph.Node {
	return b.Add(b.Log(b.Tanh(b.Scale(x, 0.5))), b.Softplus(b.Neg(x)))
}

// Given implements Scalar.
func (o ordinal) Given() Conditional { return givenOrdinal(o.thresholds()) }

// Predict implements Predictive.
func (o ordinal) Predict(mean, q float64) Distribution {
	return finiteOf(o.Given(), o.classes(), mean, q)
}

// finiteOf is the predictive distribution of the classes 0…K−1.
func finiteOf(given Conditional, classes int, mean, q float64) finite {
	d, target := make(finite, classes), make([]float64, 1)
	for k := range d {
		target[0] = float64(k)
		d[k] = logExpect(given, target, mean, math.Sqrt(max(q, 0)))
	}
	return d
}

// givenOrdinal are known thresholds.
type givenOrdinal []float64

// bounds are b_{k−1} and b_k, infinite where the class k has none.
func (g givenOrdinal) bounds(k int) (lower, upper float64) {
	lower, upper = math.Inf(-1), math.Inf(1)
	if k > 0 {
		lower = g[k-1]
	}
	if k < len(g) {
		upper = g[k]
	}
	return lower, upper
}

// LogDensity implements Conditional.
func (g givenOrdinal) LogDensity(y []float64, f float64) float64 {
	lower, upper := g.bounds(int(y[0]))
	return -softplus(f-upper) - softplus(lower-f) + math.Log(-math.Expm1(lower-upper))
}

// Slope implements Conditional: σ(l) − σ(−u).
func (g givenOrdinal) Slope(y []float64, f float64) float64 {
	lower, upper := g.bounds(int(y[0]))
	return sigmoid(lower-f) - sigmoid(f-upper)
}

// Curvature implements Conditional: Σ_k p_k (∂ log p_k/∂f)².
func (g givenOrdinal) Curvature(f float64) float64 {
	sum := 0.0
	for k := range len(g) + 1 {
		y := [1]float64{float64(k)}
		slope := g.Slope(y[:], f)
		sum += math.Exp(g.LogDensity(y[:], f)) * slope * slope
	}
	return sum
}

// Mean implements Conditional: Σ_k P(Y > k).
func (g givenOrdinal) Mean(f float64) float64 {
	sum := 0.0
	for _, b := range g {
		sum += sigmoid(f - b)
	}
	return sum
}

// Variance implements Conditional.
func (g givenOrdinal) Variance(f float64) float64 {
	mean, second := g.Mean(f), 0.0
	for k, b := range g {
		second += float64(2*k+1) * sigmoid(f-b)
	}
	return second - mean*mean
}

// CDF implements Conditional.
func (g givenOrdinal) CDF(y, f float64) float64 {
	switch k := math.Floor(y); {
	case k < 0:
		return 0
	case k < float64(len(g)):
		return sigmoid(g[int(k)] - f)
	}
	return 1
}

// ordinalSettings are the settings of ordered classes.
type ordinalSettings struct {
	Classes int `set:"classes" auto:"one more than the largest target" min:"2" max:"1000" help:"number of ordered classes"`
}

// Start implements Settings: thresholds at which each class has its frequency among the targets, for f = 0. Start
// sets Classes, which a file keeps.
func (s *ordinalSettings) Start(_ int, y []float64) (Likelihood, error) {
	n := s.Classes
	for _, v := range y {
		if s.Classes == 0 && v < 1000 {
			n = max(n, int(v)+1)
		}
	}
	if n < 2 {
		return nil, fmt.Errorf("%d ordered classes, expected the setting classes of the likelihood, or targets of at least two classes", n)
	}
	s.Classes = n
	counts := make([]float64, n)
	for k := range counts {
		counts[k] = 1
	}
	for _, v := range y {
		if v >= 0 && v < float64(n) {
			counts[int(v)]++
		}
	}
	b, below := make([]float64, n-1), 0.0
	for k := range b {
		below += counts[k]
		share := below / float64(n+len(y))
		b[k] = math.Log(share / (1 - share))
	}
	return Each(newOrdinal(b, tensor.Float64)), nil
}
