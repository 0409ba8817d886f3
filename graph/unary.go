package graph

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// pointwise is an operation on each element by itself. grad returns ct·f'(x),
// written in x, the result y, or both.
type pointwise struct {
	name string
	f32  func(dst, src []float32)
	f64  func(dst, src []float64)
	grad func(b *Builder, x, y, ct *Node) *Node
}

func (p pointwise) key() string                                   { return p.name }
func (p pointwise) shape(in []tensor.Shape) (tensor.Shape, error) { return in[0], nil }
func (p pointwise) rowWise(_ []bool, in []tensor.Shape) bool      { return len(in[0]) > 0 }

func (p pointwise) pullback(b *Builder, _ int, in []*Node, out, ct *Node) *Node {
	return p.grad(b, in[0], out, ct)
}

func (p pointwise) kernels(_ []tensor.Shape, _ tensor.Shape) kernels {
	return kernels{
		f32: func(y []float32, x [][]float32) error { p.f32(y, x[0]); return nil },
		f64: func(y []float64, x [][]float64) error { p.f64(y, x[0]); return nil },
	}
}

func (p pointwise) ranges(loop) (rangeLoop[float32], rangeLoop[float64]) {
	return pointwiseRange(p.f32), pointwiseRange(p.f64)
}

func pointwiseRange[T kernel.Float](f func(dst, src []T)) rangeLoop[T] {
	return func(y []T, x [][]T, from, to int, _ []T) { f(y[from:to], x[0][from:to]) }
}

// Tanh returns tanh x.
func (b *Builder) Tanh(x *Node) *Node {
	return b.apply(pointwise{"tanh", kernel.Tanh[float32], kernel.Tanh[float64],
		func(b *Builder, _, y, ct *Node) *Node { return b.Mul(ct, b.Affine(b.Square(y), -1, 1)) }}, x)
}

// ReLU returns max(x, 0). Its derivative at 0 is 0.
func (b *Builder) ReLU(x *Node) *Node {
	return b.apply(pointwise{"relu", kernel.ReLU[float32], kernel.ReLU[float64],
		func(b *Builder, x, _, ct *Node) *Node { return b.Mul(ct, b.Step(x)) }}, x)
}

// Step returns 1 where x > 0 and 0 elsewhere. Its derivative is 0.
func (b *Builder) Step(x *Node) *Node {
	return b.apply(pointwise{"step", kernel.Step[float32], kernel.Step[float64],
		func(*Builder, *Node, *Node, *Node) *Node { return nil }}, x)
}

// Erf returns the error function of x, 2/√π ∫₀ˣ exp(−t²) dt.
func (b *Builder) Erf(x *Node) *Node {
	return b.apply(pointwise{"erf", kernel.Erf[float32], kernel.Erf[float64],
		func(b *Builder, x, _, ct *Node) *Node {
			return b.Mul(ct, b.Scale(b.Exp(b.Neg(b.Square(x))), 2/math.Sqrt(math.Pi)))
		}}, x)
}

// Softplus returns log(1 + eˣ), without overflow.
func (b *Builder) Softplus(x *Node) *Node {
	return b.apply(pointwise{"softplus", kernel.Softplus[float32], kernel.Softplus[float64],
		func(b *Builder, x, _, ct *Node) *Node { return b.Mul(ct, b.Sigmoid(x)) }}, x)
}

// Sigmoid returns 1/(1 + e⁻ˣ).
func (b *Builder) Sigmoid(x *Node) *Node {
	return b.apply(pointwise{"sigmoid", kernel.Sigmoid[float32], kernel.Sigmoid[float64],
		func(b *Builder, _, y, ct *Node) *Node { return b.Mul(ct, b.Sub(y, b.Square(y))) }}, x)
}

// Sin returns sin x, x in radians.
func (b *Builder) Sin(x *Node) *Node {
	return b.apply(pointwise{"sin", kernel.Sin[float32], kernel.Sin[float64],
		func(b *Builder, x, _, ct *Node) *Node { return b.Mul(ct, b.Cos(x)) }}, x)
}

// Cos returns cos x, x in radians.
func (b *Builder) Cos(x *Node) *Node {
	return b.apply(pointwise{"cos", kernel.Cos[float32], kernel.Cos[float64],
		func(b *Builder, x, _, ct *Node) *Node { return b.Neg(b.Mul(ct, b.Sin(x))) }}, x)
}

// Exp returns eˣ.
func (b *Builder) Exp(x *Node) *Node {
	return b.apply(pointwise{"exp", kernel.Exp[float32], kernel.Exp[float64],
		func(b *Builder, _, y, ct *Node) *Node { return b.Mul(ct, y) }}, x)
}

// Log returns the natural logarithm of x.
func (b *Builder) Log(x *Node) *Node {
	return b.apply(pointwise{"log", kernel.Log[float32], kernel.Log[float64],
		func(b *Builder, x, _, ct *Node) *Node { return b.Div(ct, x) }}, x)
}

// Sqrt returns √x.
func (b *Builder) Sqrt(x *Node) *Node {
	return b.apply(pointwise{"sqrt", kernel.Sqrt[float32], kernel.Sqrt[float64],
		func(b *Builder, _, y, ct *Node) *Node { return b.Div(ct, b.Scale(y, 2)) }}, x)
}

// Square returns x².
func (b *Builder) Square(x *Node) *Node {
	return b.apply(pointwise{"square", kernel.Square[float32], kernel.Square[float64],
		func(b *Builder, x, _, ct *Node) *Node { return b.Mul(ct, b.Scale(x, 2)) }}, x)
}

// Neg returns −x.
func (b *Builder) Neg(x *Node) *Node { return b.Scale(x, -1) }

// Scale returns a·x for a fixed number a.
func (b *Builder) Scale(x *Node, a float64) *Node { return b.Affine(x, a, 0) }

// Affine returns a·x + c for fixed numbers a and c.
func (b *Builder) Affine(x *Node, a, c float64) *Node {
	return b.apply(pointwise{fmt.Sprintf("affine %x %x", math.Float64bits(a), math.Float64bits(c)),
		affine[float32](a, c), affine[float64](a, c),
		func(b *Builder, _, _, ct *Node) *Node {
			if a == 1 {
				return ct
			}
			return b.Scale(ct, a)
		}}, x)
}

func affine[T kernel.Float](a, c float64) func(dst, src []T) {
	return func(dst, src []T) {
		if a == 1 {
			kernel.AddScalar(dst, T(c), src)
			return
		}
		kernel.Scale(dst, T(a), src)
		if c != 0 {
			kernel.AddScalar(dst, T(c), dst)
		}
	}
}
