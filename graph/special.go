package graph

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/internal/kernel"
	"gonum.org/v1/gonum/mathext"
	"gorgonia.org/tensor"
)

// Log1p returns log(1 + x), with all digits also where x is almost 0.
func (b *Builder) Log1p(x *Node) *Node {
	return b.pointwise(Pointwise{Name: "log1p", F32: each[float32](math.Log1p), F64: each[float64](math.Log1p), ONNX: log1pONNX,
		Grad: func(b *Builder, x, _, ct *Node) *Node { return b.Div(ct, b.Affine(x, 1, 1)) }}, x)
}

// log1pONNX is log u + (x − (u − 1))/u with u = 1 + x, whose second term is what the sum u has lost of x.
func log1pONNX(w *ONNX, x string) string {
	u := w.Node("Add", nil, x, w.Number(1))
	lost := w.Node("Sub", nil, x, w.Node("Sub", nil, u, w.Number(1)))
	return w.Node("Add", nil, w.Node("Log", nil, u), w.Node("Div", nil, lost, u))
}

// LogPhi returns log Φ(x), where Φ is the distribution function of N(0,1). Its derivative is h = φ/Φ, whose derivative is −h(x + h).
// All are computed in float64, because their terms cancel.
func (b *Builder) LogPhi(x *Node) *Node {
	return b.special("log phi", LogPhi, func(b *Builder, x, _, ct *Node) *Node { return b.Mul(ct, b.hazard(x)) }, x)
}

// hazard returns φ(x)/Φ(x).
func (b *Builder) hazard(x *Node) *Node {
	return b.special("hazard", hazard, func(b *Builder, x, h, ct *Node) *Node {
		return b.Mul(ct, b.special("slope of the hazard", hazardSlope, func(b *Builder, x, slope, ct *Node) *Node {
			return b.Mul(ct, b.Neg(b.Add(b.Mul(slope, b.Add(x, b.Scale(b.hazard(x), 2))), b.hazard(x))))
		}, x))
	}, x)
}

// hazard returns φ(x)/Φ(x) of one number.
func hazard(x float64) float64 {
	if x > leastPhi {
		return math.Exp(-0.5*x*x - LogPhi(x) - 0.5*math.Log(2*math.Pi))
	}
	return -x / (1 - phiSeries(x))
}

// hazardSlope returns the derivative of hazard.
func hazardSlope(x float64) float64 {
	if x > leastPhi {
		h := hazard(x)
		return -h * (x + h)
	}
	v := phiSeries(x)
	return -x * x * v / ((1 - v) * (1 - v))
}

// leastPhi is where the asymptotic series begins.
const leastPhi = -30

// phiSeries returns v of Φ(x) = φ(x) (1 − v)/(−x), by the asymptotic series of Abramowitz and Stegun, 26.2.12, which has all digits
// below leastPhi.
func phiSeries(x float64) float64 {
	u := 1 / (x * x)
	return u * (1 - u*(3-u*(15-105*u)))
}

// LogPhi returns log Φ(x) of one number.
func LogPhi(x float64) float64 {
	switch {
	case x > 5:
		return math.Log1p(-0.5 * math.Erfc(x/math.Sqrt2))
	case x > leastPhi:
		return math.Log(0.5 * math.Erfc(-x/math.Sqrt2))
	}
	return -0.5*x*x - math.Log(-x) - 0.5*math.Log(2*math.Pi) + math.Log1p(-phiSeries(x))
}

// LogGamma returns log Γ(x) for x > 0.
func (b *Builder) LogGamma(x *Node) *Node {
	return b.special("log gamma", logGamma, func(b *Builder, x, _, ct *Node) *Node { return b.Mul(ct, b.Polygamma(0, x)) }, x)
}

func logGamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}

// Polygamma returns the derivative of order n + 1 of log Γ at x > 0.
func (b *Builder) Polygamma(n int, x *Node) *Node {
	return b.special(fmt.Sprint("polygamma ", n), func(x float64) float64 { return polygamma(n, x) },
		func(b *Builder, x, _, ct *Node) *Node { return b.Mul(ct, b.Polygamma(n+1, x)) }, x)
}

// polygamma is (−1)ⁿ⁺¹ n! ζ(n+1, x) for n > 0, with Hurwitz's ζ (Abramowitz and Stegun, 6.4.10).
func polygamma(n int, x float64) float64 {
	switch {
	case !(x > 0):
		return math.NaN()
	case n == 0:
		return mathext.Digamma(x)
	}
	v := math.Gamma(float64(n+1)) * mathext.Zeta(float64(n+1), x)
	if n%2 == 0 {
		return -v
	}
	return v
}

// special applies a function of one number, computed in float64.
func (b *Builder) special(name string, f func(float64) float64, grad func(b *Builder, x, y, ct *Node) *Node, x *Node) *Node {
	return b.pointwise(Pointwise{Name: name, F32: each[float32](f), F64: each[float64](f), Grad: grad}, x)
}

func each[T kernel.Float](f func(float64) float64) func(dst, src []T) {
	return func(dst, src []T) {
		for i, x := range src {
			dst[i] = T(f(float64(x)))
		}
	}
}

// LogRising returns log Γ(x + y) − log Γ(x), the logarithm of the rising factorial x(x+1)…(x+y−1),
// for x > 0 and y ≥ 0, with all digits also where x is large.
func (b *Builder) LogRising(x, y *Node) *Node { return b.rising(0, x, y) }

// rising is the derivative of order n of LogRising by x.
func (b *Builder) rising(n int, x, y *Node) *Node {
	f := func(x, y float64) float64 { return rising(n, x, y) }
	return b.Apply(binary{fmt.Sprint("rising ", n), false, pairs[float32](f), pairs[float64](f),
		func(b *Builder, i int, in []*Node, _, ct *Node) *Node {
			if i == 0 {
				return b.Mul(ct, b.rising(n+1, in[0], in[1]))
			}
			return b.Mul(ct, b.Polygamma(n, b.Add(in[0], in[1])))
		}, nil}, x, y)
}

// LogRising returns log Γ(x + y) − log Γ(x) of two numbers.
func LogRising(x, y float64) float64 { return rising(0, x, y) }

func rising(n int, x, y float64) float64 {
	switch {
	case n > 1:
		return polygamma(n-1, x+y) - polygamma(n-1, x)
	case n == 1 && x < 20:
		return mathext.Digamma(x+y) - mathext.Digamma(x)
	case n == 1:
		return math.Log1p(y/x) + slopeTail(x+y) - slopeTail(x)
	case x < 20:
		return logGamma(x+y) - logGamma(x)
	}
	// The difference of Stirling's series at x + y and at x, Abramowitz and Stegun, 6.1.40.
	return y*math.Log(x) + (x+y-0.5)*math.Log1p(y/x) - y + stirlingTail(x+y) - stirlingTail(x)
}

// stirlingTail is log Γ(x) − (x−½) log x + x − ½ log 2π for x ≥ 20.
func stirlingTail(x float64) float64 {
	u := 1 / (x * x)
	return (1.0/12 - u*(1.0/360-u*(1.0/1260-u*(1.0/1680-u/1188)))) / x
}

// slopeTail is ψ(x) − log x for x ≥ 20.
func slopeTail(x float64) float64 {
	u := 1 / (x * x)
	return -0.5/x - u*(1.0/12-u*(1.0/120-u*(1.0/252-u*(1.0/240-u/132))))
}

// pairs makes kernels of a function of two numbers, computed in float64.
func pairs[T kernel.Float](f func(x, y float64) float64) pairwise[T] {
	return perPair(func(dst, x, y []T) {
		for i, v := range x {
			dst[i] = T(f(float64(v), float64(y[i])))
		}
	})
}

// LogSumExp returns log Σ exp x along the last axis, which is kept with extent 1, stable for any
// finite x.
func (b *Builder) LogSumExp(x *Node) *Node { return b.Apply(logSumExp{}, x) }

// logSumExp is log Σ exp x along the last axis.
type logSumExp struct{}

func (logSumExp) Key() string { return "log sum exp" }

func (logSumExp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if len(in[0]) == 0 {
		return nil, fmt.Errorf("the input is a scalar")
	}
	out := in[0].Clone()
	out[len(out)-1] = 1
	return out, nil
}

func (logSumExp) Pullback(b *Builder, _ int, in []*Node, out, ct *Node) *Node {
	return b.Mul(ct, b.Exp(b.Sub(in[0], out)))
}

func (logSumExp) RowWise(_ []bool, in []tensor.Shape) bool { return len(in[0]) > 1 }

func (logSumExp) Forward(in []tensor.Shape, _ tensor.Shape) Loops {
	n := in[0][len(in[0])-1]
	return Loops{F32: logSumExpLoop[float32](n), F64: logSumExpLoop[float64](n)}
}

// ONNX implements ONNXForm. It subtracts the row's maximum first.
func (logSumExp) ONNX(w *ONNX, in []ONNXValue, _ []Extent) string {
	x := in[0]
	top := w.Node("ReduceMax", append(attr("axes", []int{len(x.Shape) - 1}), attr("keepdims", 1)...), x.Name)
	e := ONNXValue{w.Node("Exp", nil, w.Node("Sub", nil, x.Name, top)), x.Shape}
	return w.Node("Add", nil, top, w.Node("Log", nil, w.sum(e, len(x.Shape)-1).Name))
}

// logSumExpLoop subtracts the row's maximum first, so that nothing overflows.
func logSumExpLoop[T kernel.Float](n int) func(y []T, x [][]T) error {
	e := make([]T, n)
	return func(y []T, x [][]T) error {
		for i := range y {
			row := x[0][i*n : (i+1)*n]
			top := kernel.Largest(row)
			kernel.AddScalar(e, -top, row)
			kernel.Exp(e, e)
			y[i] = top + T(math.Log(float64(kernel.Sum(e))))
		}
		return nil
	}
}
