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

	factor float64 // of what only multiplies by a number; else 0
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
	return b.apply(pointwise{name: "tanh", f32: kernel.Tanh[float32], f64: kernel.Tanh[float64],
		grad: func(b *Builder, _, y, ct *Node) *Node { return b.Mul(ct, b.Affine(b.Square(y), -1, 1)) }}, x)
}

// ReLU returns max(x, 0). Its derivative at 0 is 0.
func (b *Builder) ReLU(x *Node) *Node {
	return b.apply(pointwise{name: "relu", f32: kernel.ReLU[float32], f64: kernel.ReLU[float64],
		grad: func(b *Builder, x, _, ct *Node) *Node { return b.Mul(ct, b.Step(x)) }}, x)
}

// Step returns 1 where x > 0 and 0 elsewhere. Its derivative is 0.
func (b *Builder) Step(x *Node) *Node {
	return b.apply(pointwise{name: "step", f32: kernel.Step[float32], f64: kernel.Step[float64],
		grad: func(*Builder, *Node, *Node, *Node) *Node { return nil }}, x)
}

// Erf returns the error function of x, 2/√π ∫₀ˣ exp(−t²) dt.
func (b *Builder) Erf(x *Node) *Node {
	return b.apply(pointwise{name: "erf", f32: kernel.Erf[float32], f64: kernel.Erf[float64],
		grad: func(b *Builder, x, _, ct *Node) *Node {
			return b.Mul(ct, b.Scale(b.Exp(b.Neg(b.Square(x))), 2/math.Sqrt(math.Pi)))
		}}, x)
}

// Softplus returns log(1 + eˣ), without overflow.
func (b *Builder) Softplus(x *Node) *Node {
	return b.apply(pointwise{name: "softplus", f32: kernel.Softplus[float32], f64: kernel.Softplus[float64],
		grad: func(b *Builder, x, _, ct *Node) *Node { return b.Mul(ct, b.Sigmoid(x)) }}, x)
}

// Sigmoid returns 1/(1 + e⁻ˣ).
func (b *Builder) Sigmoid(x *Node) *Node {
	return b.apply(pointwise{name: "sigmoid", f32: kernel.Sigmoid[float32], f64: kernel.Sigmoid[float64],
		grad: func(b *Builder, _, y, ct *Node) *Node { return b.Mul(ct, b.Sub(y, b.Square(y))) }}, x)
}

// Sin returns sin x, x in radians.
func (b *Builder) Sin(x *Node) *Node {
	return b.apply(pointwise{name: "sin", f32: kernel.Sin[float32], f64: kernel.Sin[float64],
		grad: func(b *Builder, x, _, ct *Node) *Node { return b.Mul(ct, b.Cos(x)) }}, x)
}

// Cos returns cos x, x in radians.
func (b *Builder) Cos(x *Node) *Node {
	return b.apply(pointwise{name: "cos", f32: kernel.Cos[float32], f64: kernel.Cos[float64],
		grad: func(b *Builder, x, _, ct *Node) *Node { return b.Neg(b.Mul(ct, b.Sin(x))) }}, x)
}

// Exp returns eˣ.
func (b *Builder) Exp(x *Node) *Node {
	return b.apply(pointwise{name: "exp", f32: kernel.Exp[float32], f64: kernel.Exp[float64],
		grad: func(b *Builder, _, y, ct *Node) *Node { return b.Mul(ct, y) }}, x)
}

// Log returns the natural logarithm of x.
func (b *Builder) Log(x *Node) *Node {
	return b.apply(pointwise{name: "log", f32: kernel.Log[float32], f64: kernel.Log[float64],
		grad: func(b *Builder, x, _, ct *Node) *Node { return b.Div(ct, x) }}, x)
}

// Sqrt returns √x.
func (b *Builder) Sqrt(x *Node) *Node {
	return b.apply(pointwise{name: "sqrt", f32: kernel.Sqrt[float32], f64: kernel.Sqrt[float64],
		grad: func(b *Builder, _, y, ct *Node) *Node { return b.Div(ct, b.Scale(y, 2)) }}, x)
}

// Square returns x².
func (b *Builder) Square(x *Node) *Node {
	return b.apply(pointwise{name: "square", f32: kernel.Square[float32], f64: kernel.Square[float64],
		grad: func(b *Builder, x, _, ct *Node) *Node { return b.Mul(ct, b.Scale(x, 2)) }}, x)
}

// Neg returns −x.
func (b *Builder) Neg(x *Node) *Node { return b.Scale(x, -1) }

// Scale returns a·x for a fixed number a.
func (b *Builder) Scale(x *Node, a float64) *Node { return b.Affine(x, a, 0) }

// Affine returns a·x + c for fixed numbers a and c.
func (b *Builder) Affine(x *Node, a, c float64) *Node {
	r := pointwise{name: fmt.Sprintf("affine %x %x", math.Float64bits(a), math.Float64bits(c)),
		f32: affine[float32](a, c), f64: affine[float64](a, c),
		grad: func(b *Builder, _, _, ct *Node) *Node {
			if a == 1 {
				return ct
			}
			return b.Scale(ct, a)
		}}
	if c == 0 {
		r.factor = a
	}
	return b.apply(r, x)
}

// scaled returns x and a if n is a·x.
func scaled(n *Node) (x *Node, a float64, ok bool) {
	r, _ := unwrap(n.Op())
	if p, isPointwise := r.(pointwise); isPointwise && p.factor != 0 {
		return Children(n)[0], p.factor, true
	}
	return nil, 0, false
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
