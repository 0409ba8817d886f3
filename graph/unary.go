package graph

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// Pointwise is a function of each element by itself. [Pointwise.Op] makes an operation of it. The
// result may take the place of the operand, and runs of pointwise operations on large arrays are
// computed block by block.
type Pointwise struct {
	// Name is the key: it names the function and every number that it depends on.
	Name string
	// F32 and F64 write f(src) to dst, element by element. The two have the same
	// length, and may be the same slice.
	F32 func(dst, src []float32)
	F64 func(dst, src []float64) // see F32
	// Grad writes ct·f'(x) in terms of x, of y = f(x), or of both.
	Grad func(b *Builder, x, y, ct *Node) *Node
	// ONNX writes the function as nodes of ONNX and returns the name of the result; nil: it has no form in ONNX.
	ONNX func(w *ONNX, x string) string
}

// operator is the ONNX form of a function that is an operator of ONNX.
func operator(name string) func(w *ONNX, x string) string {
	return func(w *ONNX, x string) string { return w.Node(name, nil, x) }
}

// Op returns the operation for [Builder.Apply].
func (p Pointwise) Op() Op { return pointwise{p} }

// pointwise applies a Pointwise to x.
func (b *Builder) pointwise(p Pointwise, x *Node) *Node { return b.Apply(p.Op(), x) }

// pointwise is the Op of a Pointwise.
type pointwise struct{ Pointwise }

func (p pointwise) Key() string { return p.Name }

func (p pointwise) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if len(in) != 1 {
		return nil, fmt.Errorf("%d operands, expected one", len(in))
	}
	return in[0], nil
}

func (p pointwise) Pullback(b *Builder, _ int, in []*Node, out, ct *Node) *Node {
	return p.Grad(b, in[0], out, ct)
}

func (p pointwise) RowWise(_ []bool, in []tensor.Shape) bool { return len(in[0]) > 0 }

func (p pointwise) Forward([]tensor.Shape, tensor.Shape) Loops {
	return Loops{F32: pointwiseLoop(p.F32), F64: pointwiseLoop(p.F64)}
}

// ONNX implements ONNXForm.
func (p pointwise) ONNX(w *ONNX, in []ONNXValue, out []Extent) string {
	if p.Pointwise.ONNX == nil {
		return w.Failf("the function has no form in ONNX")
	}
	return w.elementwise(in, out, func(in ...string) string { return p.Pointwise.ONNX(w, in[0]) })
}

func pointwiseLoop[T kernel.Float](f func(dst, src []T)) func(y []T, x [][]T) error {
	if f == nil {
		return nil
	}
	return func(y []T, x [][]T) error { f(y, x[0]); return nil }
}

func (p pointwise) ranges(loop) (rangeLoop[float32], rangeLoop[float64]) {
	return pointwiseRange(p.F32), pointwiseRange(p.F64)
}

func pointwiseRange[T kernel.Float](f func(dst, src []T)) rangeLoop[T] {
	return func(y []T, x [][]T, from, to int, _ []T) { f(y[from:to], x[0][from:to]) }
}

// isPointwise reports whether op was made of a Pointwise. A type that embeds such an operation may
// override its methods and therefore does not count.
func isPointwise(op any) bool {
	switch op.(type) {
	case pointwise, affine:
		return true
	}
	return false
}

// Tanh returns tanh x.
func (b *Builder) Tanh(x *Node) *Node {
	return b.pointwise(Pointwise{Name: "tanh", ONNX: operator("Tanh"), F32: kernel.Tanh[float32], F64: kernel.Tanh[float64],
		Grad: func(b *Builder, _, y, ct *Node) *Node { return b.Mul(ct, b.Affine(b.Square(y), -1, 1)) }}, x)
}

// ReLU returns max(x, 0). Its derivative at 0 is 0.
func (b *Builder) ReLU(x *Node) *Node {
	return b.pointwise(Pointwise{Name: "relu", ONNX: operator("Relu"), F32: kernel.ReLU[float32], F64: kernel.ReLU[float64],
		Grad: func(b *Builder, x, _, ct *Node) *Node { return b.Mul(ct, b.Step(x)) }}, x)
}

// Step returns 1 where x > 0 and 0 elsewhere. Its derivative is 0.
func (b *Builder) Step(x *Node) *Node {
	return b.pointwise(Pointwise{Name: "step", ONNX: stepONNX, F32: kernel.Step[float32], F64: kernel.Step[float64],
		Grad: func(*Builder, *Node, *Node, *Node) *Node { return nil }}, x)
}

// Detach returns x, whose derivative counts as 0: what depends on x through it takes x for a
// constant.
func (b *Builder) Detach(x *Node) *Node {
	return b.pointwise(Pointwise{Name: "detach", ONNX: func(_ *ONNX, x string) string { return x }, F32: duplicate[float32], F64: duplicate[float64],
		Grad: func(*Builder, *Node, *Node, *Node) *Node { return nil }}, x)
}

func duplicate[T kernel.Float](dst, src []T) { copy(dst, src) }

// Erf returns the error function of x, 2/√π ∫₀ˣ exp(−t²) dt.
func (b *Builder) Erf(x *Node) *Node {
	return b.pointwise(Pointwise{Name: "erf", ONNX: erfONNX, F32: kernel.Erf[float32], F64: kernel.Erf[float64],
		Grad: func(b *Builder, x, _, ct *Node) *Node {
			return b.Mul(ct, b.Scale(b.Exp(b.Neg(b.Square(x))), 2/math.Sqrt(math.Pi)))
		}}, x)
}

// Softplus returns log(1 + eˣ), without overflow.
func (b *Builder) Softplus(x *Node) *Node {
	return b.pointwise(Pointwise{Name: "softplus", ONNX: softplusONNX, F32: kernel.Softplus[float32], F64: kernel.Softplus[float64],
		Grad: func(b *Builder, x, _, ct *Node) *Node { return b.Mul(ct, b.Sigmoid(x)) }}, x)
}

// Sigmoid returns 1/(1 + e⁻ˣ).
func (b *Builder) Sigmoid(x *Node) *Node {
	return b.pointwise(Pointwise{Name: "sigmoid", ONNX: sigmoidONNX, F32: kernel.Sigmoid[float32], F64: kernel.Sigmoid[float64],
		Grad: func(b *Builder, _, y, ct *Node) *Node { return b.Mul(ct, b.Sub(y, b.Square(y))) }}, x)
}

// Sin returns sin x, x in radians.
func (b *Builder) Sin(x *Node) *Node {
	return b.pointwise(Pointwise{Name: "sin", ONNX: operator("Sin"), F32: kernel.Sin[float32], F64: kernel.Sin[float64],
		Grad: func(b *Builder, x, _, ct *Node) *Node { return b.Mul(ct, b.Cos(x)) }}, x)
}

// Cos returns cos x, x in radians.
func (b *Builder) Cos(x *Node) *Node {
	return b.pointwise(Pointwise{Name: "cos", ONNX: cosONNX, F32: kernel.Cos[float32], F64: kernel.Cos[float64],
		Grad: func(b *Builder, x, _, ct *Node) *Node { return b.Neg(b.Mul(ct, b.Sin(x))) }}, x)
}

// Exp returns eˣ.
func (b *Builder) Exp(x *Node) *Node {
	return b.pointwise(Pointwise{Name: "exp", ONNX: operator("Exp"), F32: kernel.Exp[float32], F64: kernel.Exp[float64],
		Grad: func(b *Builder, _, y, ct *Node) *Node { return b.Mul(ct, y) }}, x)
}

// Log returns the natural logarithm of x.
func (b *Builder) Log(x *Node) *Node {
	return b.pointwise(Pointwise{Name: "log", ONNX: operator("Log"), F32: kernel.Log[float32], F64: kernel.Log[float64],
		Grad: func(b *Builder, x, _, ct *Node) *Node { return b.Div(ct, x) }}, x)
}

// Sqrt returns √x.
func (b *Builder) Sqrt(x *Node) *Node {
	return b.pointwise(Pointwise{Name: "sqrt", ONNX: operator("Sqrt"), F32: kernel.Sqrt[float32], F64: kernel.Sqrt[float64],
		Grad: func(b *Builder, _, y, ct *Node) *Node { return b.Div(ct, b.Scale(y, 2)) }}, x)
}

// Length returns √x, the length of a vector with the sum of squares x. Its derivative at 0 is 0, as in PyTorch: the slope of the root is
// infinite there, and its product with the slopes of the squares, which are 0, would be NaN.
func (b *Builder) Length(x *Node) *Node {
	least := 1e-150 // its square is a normal number
	if b.dt == tensor.Float32 {
		least = 1e-15
	}
	return b.pointwise(Pointwise{Name: "length", ONNX: operator("Sqrt"), F32: kernel.Sqrt[float32], F64: kernel.Sqrt[float64],
		Grad: func(b *Builder, _, y, ct *Node) *Node {
			return b.Div(b.Mul(ct, b.Step(y)), b.Clip(b.Scale(y, 2), least, math.Inf(1)))
		}}, x)
}

// Square returns x².
func (b *Builder) Square(x *Node) *Node {
	return b.pointwise(Pointwise{Name: "square", ONNX: func(w *ONNX, x string) string { return w.Node("Mul", nil, x, x) }, F32: kernel.Square[float32], F64: kernel.Square[float64],
		Grad: func(b *Builder, x, _, ct *Node) *Node { return b.Mul(ct, b.Scale(x, 2)) }}, x)
}

// Neg returns −x.
func (b *Builder) Neg(x *Node) *Node { return b.Scale(x, -1) }

// Scale returns a·x for a fixed number a.
func (b *Builder) Scale(x *Node, a float64) *Node { return b.Affine(x, a, 0) }

// Affine returns a·x + c for fixed numbers a and c.
func (b *Builder) Affine(x *Node, a, c float64) *Node { return b.Apply(newAffine(a, c), x) }

// affine is a·x + c.
type affine struct {
	pointwise
	a, c float64 // factor and summand
}

func newAffine(a, c float64) affine {
	return affine{pointwise{Pointwise{
		Name: fmt.Sprintf("affine %x %x", math.Float64bits(a), math.Float64bits(c)),
		ONNX: affineONNX(a, c),
		F32:  affineLoop[float32](a, c), F64: affineLoop[float64](a, c),
		Grad: func(b *Builder, _, _, ct *Node) *Node {
			if a == 1 {
				return ct
			}
			return b.Scale(ct, a)
		},
	}}, a, c}
}

func affineLoop[T kernel.Float](a, c float64) func(dst, src []T) {
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

func affineONNX(a, c float64) func(w *ONNX, x string) string {
	return func(w *ONNX, x string) string {
		switch {
		case a == 1:
		case a == -1 && c != 0:
			return w.Node("Sub", nil, w.Number(c), x)
		case a == -1:
			return w.Node("Neg", nil, x)
		default:
			x = w.Node("Mul", nil, x, w.Number(a))
		}
		if c != 0 {
			x = w.Node("Add", nil, x, w.Number(c))
		}
		return x
	}
}

func stepONNX(w *ONNX, x string) string {
	return w.Node("Cast", attr("to", int(elementType(w.dt))), w.Node("Greater", nil, x, w.Number(0)))
}

// softplusONNX is max(x, 0) + log(1 + exp(−|x|)).
func softplusONNX(w *ONNX, x string) string {
	small := w.Node("Exp", nil, w.Node("Neg", nil, w.Node("Abs", nil, x)))
	return w.Node("Add", nil, w.Node("Relu", nil, x), log1pONNX(w, small))
}

// sigmoidONNX is an operator in float32. In float64 it is 1/(1 + e⁻ˣ): ONNX Runtime 1.30 joins x·Sigmoid(x) to an operator that it has
// for float32 alone.
func sigmoidONNX(w *ONNX, x string) string {
	if w.dt == tensor.Float32 {
		return w.Node("Sigmoid", nil, x)
	}
	below := w.Node("Exp", nil, w.Node("Neg", nil, x))
	return w.Node("Div", nil, w.Number(1), w.Node("Add", nil, below, w.Number(1)))
}

// cosONNX is an operator in float32. In float64, which ONNX Runtime 1.23 does not have, it is 1 − 2 sin²(x/2).
func cosONNX(w *ONNX, x string) string {
	if w.dt == tensor.Float32 {
		return w.Node("Cos", nil, x)
	}
	half := w.Node("Sin", nil, w.Node("Mul", nil, x, w.Number(0.5)))
	return affineONNX(-2, 1)(w, w.Node("Mul", nil, half, half))
}
