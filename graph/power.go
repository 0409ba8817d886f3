package graph

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/internal/kernel"
)

// Pow returns x to the power of a fixed number p, of any x for whole p and of x ≥ 0 for others.
func (b *Builder) Pow(x *Node, p float64) *Node {
	switch {
	case math.IsNaN(p) || math.IsInf(p, 0):
		return b.Failf("graph: a power of %g", p)
	case p == 0:
		return b.Clip(x, 1, 1) // a constant would not have rows of its own
	case p == 0.5:
		return b.Sqrt(x)
	case p == 1:
		return x
	case p != math.Trunc(p):
		return b.fraction(x, p)
	case p < 0:
		return b.Div(b.Fill(1, 1), b.Pow(x, -p))
	case math.Mod(p, 2) == 0:
		return b.Square(b.Pow(x, p/2))
	}
	return b.Mul(b.Pow(x, p-1), x)
}

// fraction is Pow for p that is not whole. Its slope is finite at 0 if p > 1, as that of exp(p·log x) is not.
func (b *Builder) fraction(x *Node, p float64) *Node {
	return b.pointwise(Pointwise{Name: fmt.Sprintf("pow %x", math.Float64bits(p)), F32: powLoop[float32](p), F64: powLoop[float64](p),
		Grad: func(b *Builder, x, _, ct *Node) *Node { return b.Mul(ct, b.Scale(b.Pow(x, p-1), p)) },
		ONNX: func(w *ONNX, x string) string { return w.Node("Pow", nil, x, w.Number(p)) }}, x)
}

func powLoop[T kernel.Float](p float64) func(dst, src []T) {
	return func(dst, src []T) {
		kernel.Log(dst, src)
		kernel.Scale(dst, T(p), dst)
		kernel.Exp(dst, dst)
	}
}
