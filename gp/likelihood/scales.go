package likelihood

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// scalePoints is the number of points of a quadrature over the scales of Student's t.
const scalePoints = 64

// scaleGrid has points λ and weights of ∫ λᵃ⁻¹ e^−λ g(λ) dλ / Γ(a) ≈ Σ e^logW g(λ).
type scaleGrid struct {
	lambda [scalePoints]float64 // λ
	tilt   [scalePoints]float64 // log(λ/a), the derivative of logW by a before the weights are normalised
	logW   [scalePoints]float64 // log w, Σ w = 1
}

// fill makes the grid for a g that is almost constant up to λ = a/(1+x): the trapezoid rule in τ with
// log(λ/a) = τ − e^−τ/(a(1+x)). Towards small λ, where the integrand falls like λᵃ only, the points are thus as far
// apart as the double exponential rule has them (Takahasi and Mori 1974).
func (g *scaleGrid) fill(a, x float64) {
	const drop = 33 // the integrand at the ends is e^−drop of its maximum or less
	start, k := -math.Log1p(x), 1/(a*(1+x))
	low := start - min(math.Log(drop+a), 1.5*math.Sqrt(2*drop/a)+drop/a)
	end := math.Log1p(reach/math.Sqrt(a) + (drop+4)/a)
	high := end
	for range 8 {
		e := k * math.Exp(-high)
		high -= (high - e - end) / (1 + e)
	}
	h := (high - low) / (scalePoints - 1)
	for i := range g.lambda {
		tau := low + h*float64(i)
		e := k * math.Exp(-tau)
		g.tilt[i] = tau - e
		g.lambda[i] = a * math.Exp(g.tilt[i])
		g.logW[i] = a*(g.tilt[i]-math.Expm1(g.tilt[i])) + math.Log1p(e)
	}
	total := LogSumExp(g.logW[:])
	for i := range g.logW {
		g.logW[i] -= total
	}
}

// scaled is the operation that computes the grid of each element from x and a [1]: 3·scalePoints numbers, the λ,
// the tilts and the logarithms of the weights. With bound the tilts are w/λ instead. The result counts as a
// constant.
type scaled struct{ bound bool }

// Key implements graph.Op.
func (o scaled) Key() string { return fmt.Sprint("grid of scales, bound ", o.bound) }

// Shape implements graph.Op.
func (scaled) Shape(in []tensor.Shape) (tensor.Shape, error) {
	return append(in[0].Clone(), 3*scalePoints), nil
}

// Pullback implements graph.Op.
func (scaled) Pullback(*graph.Builder, int, []*graph.Node, *graph.Node, *graph.Node) *graph.Node {
	return nil
}

// RowWise implements graph.Op.
func (scaled) RowWise(batched []bool, _ []tensor.Shape) bool { return !batched[1] }

// Forward implements graph.Op.
func (o scaled) Forward([]tensor.Shape, tensor.Shape) graph.Loops {
	return graph.Loops{F32: scaledLoop[float32](o.bound), F64: scaledLoop[float64](o.bound)}
}

func scaledLoop[T float32 | float64](bound bool) func(out []T, x [][]T) error {
	var g scaleGrid
	return func(out []T, x [][]T) error {
		for i, v := range x[0] {
			g.fill(float64(x[1][0]), float64(v))
			to := out[3*scalePoints*i:]
			for k, lambda := range g.lambda {
				if bound {
					g.tilt[k] = math.Exp(g.logW[k]) / lambda
				}
				to[k], to[scalePoints+k], to[2*scalePoints+k] = T(lambda), T(g.tilt[k]), T(g.logW[k])
			}
		}
		return nil
	}
}

// scaleNodes are the nodes of a grid for each element, and the logarithm of
// φ(λ) = E e^−λX for X = (y−f)²/(νs²) with f ~ N(m, q): each of the shape of the elements, then scalePoints.
type scaleNodes struct{ lambda, tilt, logW, logPhi *graph.Node }

// newScaleNodes returns the nodes for x = (y−m)²/(νs²), v = q/(νs²) and a [1].
func newScaleNodes(b *graph.Builder, x, v, a *graph.Node, bound bool) (n scaleNodes) {
	grids := b.Apply(scaled{bound}, b.Add(x, v), a)
	if b.Err() != nil {
		return n
	}
	last, column := x.Dims(), append(x.Shape().Clone(), 1)
	part := func(k int) *graph.Node { return b.Slice(grids, last, k*scalePoints, (k+1)*scalePoints) }
	n.lambda, n.tilt, n.logW = part(0), part(1), part(2)
	spread := b.Scale(b.Mul(n.lambda, b.Reshape(v, column...)), 2)
	n.logPhi = b.Neg(b.Add(b.Scale(b.Log1p(spread), 0.5), b.Div(b.Mul(n.lambda, b.Reshape(x, column...)), b.Affine(spread, 1, 1))))
	return n
}
