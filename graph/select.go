package graph

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/internal/kernel"
)

// These operations copy numbers, and their pullbacks copy cotangents. A product with a mask would make NaN of an infinite number
// that the mask leaves out, and a difference would round numbers beside a bound that is far larger.

// Keep returns x where mask is not 0, and 0 elsewhere, whatever x is there. The derivative by the mask is 0.
func (b *Builder) Keep(x, mask *Node) *Node { return b.masked(x, mask, true) }

// Drop returns x where mask is 0, and 0 elsewhere; see [Builder.Keep].
func (b *Builder) Drop(x, mask *Node) *Node { return b.masked(x, mask, false) }

// Where returns x where mask is not 0, and y elsewhere. What is not selected gets the cotangent 0, whose product with a slope is NaN
// where the slope is infinite or NaN, as that of log x at 0 or of √x below 0.
func (b *Builder) Where(mask, x, y *Node) *Node { return b.Add(b.Keep(x, mask), b.Drop(y, mask)) }

// masked returns x where mask is not 0, which is whether it is kept, and 0 elsewhere.
func (b *Builder) masked(x, mask *Node, kept bool) *Node {
	name := map[bool]string{true: "keep", false: "drop"}[kept]
	return b.Apply(binary{name, false, perPair(maskedLoop[float32](kept)), perPair(maskedLoop[float64](kept)),
		func(b *Builder, i int, in []*Node, _, ct *Node) *Node {
			if i == 1 {
				return nil
			}
			return b.masked(ct, in[1], kept)
		}, func(w *ONNX, x, mask string) string {
			without, zero := w.Node("Equal", nil, mask, w.Number(0)), w.Number(0)
			if kept {
				return w.Node("Where", nil, without, zero, x)
			}
			return w.Node("Where", nil, without, x, zero)
		}}, x, mask)
}

func maskedLoop[T kernel.Float](kept bool) func(dst, x, mask []T) {
	return func(dst, x, mask []T) {
		for i, v := range x {
			if (mask[i] != 0) != kept {
				v = 0
			}
			dst[i] = v
		}
	}
}

// perPair makes kernels of a function of arrays of one length.
func perPair[T kernel.Float](f func(dst, x, y []T)) pairwise[T] {
	return pairwise[T]{each: func(r kernel.Rows, dst, x, y []T) {
		n := len(dst) / r.Count
		for i := range r.Count {
			f(dst[i*n:][:n], x[i*r.A:][:n], y[i*r.B:][:n])
		}
	}}
}

// Max returns the larger of x and y. Where they are equal, the derivative is that by y.
func (b *Builder) Max(x, y *Node) *Node {
	return b.Apply(binary{"max", true, perPair(maxLoop[float32]), perPair(maxLoop[float64]),
		func(b *Builder, i int, in []*Node, _, ct *Node) *Node {
			return b.masked(ct, b.Step(b.Sub(in[0], in[1])), i == 0)
		}, pairOperator("Max")}, x, y)
}

// Min returns the smaller of x and y. Where they are equal, the derivative is that by x.
func (b *Builder) Min(x, y *Node) *Node {
	return b.Apply(binary{"min", true, perPair(minLoop[float32]), perPair(minLoop[float64]),
		func(b *Builder, i int, in []*Node, _, ct *Node) *Node {
			return b.masked(ct, b.Step(b.Sub(in[0], in[1])), i == 1)
		}, pairOperator("Min")}, x, y)
}

func maxLoop[T kernel.Float](dst, x, y []T) {
	for i, v := range x {
		dst[i] = max(v, y[i])
	}
}

func minLoop[T kernel.Float](dst, x, y []T) {
	for i, v := range x {
		dst[i] = min(v, y[i])
	}
}

// Clip returns x, but at least low and at most high, either of which may be infinite. Its
// derivative at the bounds is 0.
func (b *Builder) Clip(x *Node, low, high float64) *Node {
	if math.IsInf(low, -1) && math.IsInf(high, 1) {
		return x
	}
	return b.pointwise(Pointwise{Name: boundsName("clip", low, high), F32: clipLoop[float32](low, high), F64: clipLoop[float64](low, high),
		Grad: func(b *Builder, x, _, ct *Node) *Node { return b.Mul(ct, b.between(x, low, high)) },
		ONNX: func(w *ONNX, x string) string { return w.Node("Clip", nil, x, w.Number(low), w.Number(high)) }}, x)
}

// between returns 1 where low < x < high and 0 elsewhere. Its derivative is 0.
func (b *Builder) between(x *Node, low, high float64) *Node {
	return b.pointwise(Pointwise{Name: boundsName("between", low, high), F32: betweenLoop[float32](low, high), F64: betweenLoop[float64](low, high),
		Grad: func(*Builder, *Node, *Node, *Node) *Node { return nil },
		ONNX: func(w *ONNX, x string) string {
			inside := w.Node("And", nil, w.Node("Greater", nil, x, w.Number(low)), w.Node("Less", nil, x, w.Number(high)))
			return w.Node("Cast", attr("to", int(elementType(w.dt))), inside)
		}}, x)
}

func boundsName(function string, low, high float64) string {
	return fmt.Sprintf("%s %x %x", function, math.Float64bits(low), math.Float64bits(high))
}

func clipLoop[T kernel.Float](low, high float64) func(dst, src []T) {
	a, c := T(low), T(high)
	return func(dst, src []T) {
		for i, x := range src {
			dst[i] = min(max(x, a), c)
		}
	}
}

func betweenLoop[T kernel.Float](low, high float64) func(dst, src []T) {
	a, c := T(low), T(high)
	return func(dst, src []T) {
		for i, x := range src {
			if dst[i] = 0; x > a && x < c {
				dst[i] = 1
			}
		}
	}
}
