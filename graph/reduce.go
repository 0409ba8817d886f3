package graph

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// sumTo sums over the axes along which to broadcasts to the input's shape. It and
// broadcastTo are each other's transposes.
type sumTo struct {
	to tensor.Shape // of the sums
}

func (r sumTo) Key() string { return "sum to " + shapeText(r.to) }

func (r sumTo) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if !canReduce(in[0], r.to) {
		return nil, fmt.Errorf("%v does not broadcast to the input's shape %v", r.to, in[0])
	}
	return r.to, nil
}

func (r sumTo) Pullback(b *Builder, _ int, in []*Node, _, ct *Node) *Node {
	return b.spread(ct, in[0].Shape()...)
}

func (r sumTo) RowWise(_ []bool, in []tensor.Shape) bool { return sameRows(in[0], r.to) }

// sameRows reports whether two shapes have as many axes, and as many rows.
func sameRows(a, b tensor.Shape) bool { return len(a) > 0 && len(a) == len(b) && a[0] == b[0] }

func (r sumTo) Forward(in []tensor.Shape, out tensor.Shape) Loops {
	l := newLoop(in[0], out, in[0])
	return Loops{F32: sumLoop[float32](l), F64: sumLoop[float64](l)}
}

// ONNX implements ONNXForm.
func (sumTo) ONNX(w *ONNX, in []ONNXValue, out []Extent) string {
	return w.Reshape(w.sum(in[0], summedAxes(in[0].Shape, out)...), out...).Name
}

// summedAxes returns the axes along which an array is summed to the shape to.
func summedAxes(from, to []Extent) []int {
	var axes []int
	for d, e := range from {
		if k := d - len(from) + len(to); !e.one() && (k < 0 || to[k].one()) {
			axes = append(axes, d)
		}
	}
	return axes
}

func sumLoop[T kernel.Float](l loop) func(y []T, x [][]T) error {
	n, still := l.inner(), l.step(0) == 0
	return reduced(l, func(y []T, x [][]T, off, step []int, count int) {
		to, from := off[0], off[1]
		for range count {
			if row := x[0][from:][:n]; still {
				y[to] += kernel.Sum(row)
			} else {
				kernel.Add(y[to:][:n], y[to:][:n], row)
			}
			to, from = to+step[0], from+step[1]
		}
	})
}

// broadcastTo repeats an array along new or unit axes.
type broadcastTo struct {
	to tensor.Shape // of the result
}

func (r broadcastTo) Key() string { return "broadcast to " + shapeText(r.to) }

func (r broadcastTo) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if !canReduce(r.to, in[0]) {
		return nil, fmt.Errorf("shape %v does not broadcast to %v", in[0], r.to)
	}
	return r.to, nil
}

func (r broadcastTo) Pullback(b *Builder, _ int, in []*Node, _, ct *Node) *Node {
	return b.summed(ct, in[0].Shape()...)
}

func (r broadcastTo) RowWise(_ []bool, in []tensor.Shape) bool { return sameRows(in[0], r.to) }

func (r broadcastTo) Forward(in []tensor.Shape, out tensor.Shape) Loops {
	l := newLoop(out, out, in[0])
	return Loops{F32: spreadLoop[float32](l), F64: spreadLoop[float64](l)}
}

// ONNX implements ONNXForm.
func (broadcastTo) ONNX(w *ONNX, in []ONNXValue, out []Extent) string {
	return w.Expand(in[0], out...).Name
}

func spreadLoop[T kernel.Float](l loop) func(y []T, x [][]T) error {
	n, outer, c := l.inner(), l.outer(), l.cursor()
	return func(y []T, x [][]T) error {
		for range outer {
			row, from := y[c.off[0]:][:n], x[0][c.off[1]:]
			if l.step(1) == 1 {
				copy(row, from)
			} else {
				fillWith(row, from[0])
			}
			c.next()
		}
		return nil
	}
}

// fillWith sets every element to v.
func fillWith[T kernel.Float](dst []T, v T) {
	for i := range dst {
		dst[i] = v
	}
}

// SumTo sums x over the axes along which shape broadcasts to x's shape.
func (b *Builder) SumTo(x *Node, shape ...int) *Node {
	return b.Apply(sumTo{slices.Clone(shape)}, x)
}

// summed is x if it has the shape already, and SumTo otherwise.
func (b *Builder) summed(x *Node, shape ...int) *Node { return b.with("sum to", b.SumTo, x, shape) }

// BroadcastTo repeats x along new leading axes and along axes of extent 1.
func (b *Builder) BroadcastTo(x *Node, shape ...int) *Node {
	return b.Apply(broadcastTo{slices.Clone(shape)}, x)
}

// spread is x if it has the shape already, and BroadcastTo otherwise.
func (b *Builder) spread(x *Node, shape ...int) *Node {
	return b.with("broadcast to", b.BroadcastTo, x, shape)
}

// Sum adds all elements of x to a scalar, a node of shape ().
func (b *Builder) Sum(x *Node) *Node { return b.SumTo(x) }

// SumAxis sums over one axis, which is kept with extent 1. Negative axes count
// from the end.
func (b *Builder) SumAxis(x *Node, axis int) *Node {
	if !b.usable("sum axis", x) {
		return nil
	}
	if axis < 0 {
		axis += x.Dims()
	}
	if axis < 0 || axis >= x.Dims() {
		return b.Failf("graph: sum axis: axis %d of shape %v", axis, x.Shape())
	}
	to := x.Shape().Clone()
	to[axis] = 1
	return b.SumTo(x, to...)
}

// Mean returns the mean of all elements, a node of shape ().
func (b *Builder) Mean(x *Node) *Node {
	if !b.usable("mean", x) {
		return nil
	}
	return b.Scale(b.Sum(x), 1/float64(size(x.Shape())))
}

// zeros is a constant 0 of n's shape.
func (b *Builder) zeros(n *Node) *Node {
	if n.Dims() == 0 {
		return b.Sum(b.Fill(0, 1))
	}
	return b.Fill(0, n.Shape()...)
}
