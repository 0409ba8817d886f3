package graph

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// contract is the product of two arrays that broadcast, summed to a shape, without the
// product ever being formed. Builder.SumTo makes it of a sum over a product.
type contract struct{ to tensor.Shape }

func (r contract) key() string { return fmt.Sprintf("contract to %v", r.to) }

func (r contract) shape(in []tensor.Shape) (tensor.Shape, error) {
	full, err := broadcast(in[0], in[1])
	if err != nil {
		return nil, err
	}
	if !canReduce(full, r.to) {
		return nil, fmt.Errorf("%v does not broadcast to the product's shape %v", r.to, full)
	}
	return r.to, nil
}

// pullback of x∘y summed is the cotangent, spread, times the other operand, summed to
// the operand's own shape: along axes that only the operand itself has, a repetition.
func (r contract) pullback(b *Builder, i int, in []*Node, _, ct *Node) *Node {
	if !b.usable("contract", ct) {
		return nil
	}
	own, other := in[i].Shape(), in[1-i]
	full, err := broadcast(ct.Shape(), other.Shape())
	if err != nil {
		return b.Failf("graph: contract: %w", err)
	}
	sum := slices.Clone(full)
	for d := range sum {
		if extent(own, d-len(full)+len(own)) == 1 {
			sum[d] = 1
		}
	}
	if drop := len(sum) - len(own); drop > 0 {
		sum = sum[drop:]
	}
	return b.BroadcastTo(b.SumTo(b.Mul(ct, other), sum...), own...)
}

// rowPullback: as of the product, if the sum keeps the batch and as many axes.
func (r contract) rowPullback(b *Builder, i int, in []*Node, out, ct *Node) (Outer, bool) {
	full, err := broadcast(in[0].Shape(), in[1].Shape())
	if err != nil || len(full) != ct.Dims() || full[0] != out.Shape()[0] {
		return Outer{}, false
	}
	return broadcastRows(b, i, in, out, ct, func(b *Builder, i int, in []*Node, _, ct *Node) *Node {
		return b.BroadcastTo(b.Mul(ct, in[1-i]), spread(b, ct, in)...)
	})
}

// spread is the shape of the product of two operands and a cotangent.
func spread(b *Builder, ct *Node, in []*Node) []int {
	full := ct.Shape()
	for _, n := range in {
		var err error
		if full, err = broadcast(full, n.Shape()); err != nil {
			b.Failf("graph: contract: %w", err)
			return ct.Shape()
		}
	}
	return full
}

func (r contract) rowWise(batched []bool, in []tensor.Shape) bool {
	full, err := broadcast(in[0], in[1])
	if err != nil || len(full) == 0 || len(r.to) != len(full) || r.to[0] != full[0] {
		return false
	}
	return binary{}.rowWise(batched, in)
}

func (r contract) kernels(in []tensor.Shape, out tensor.Shape) kernels {
	full, _ := broadcast(in[0], in[1])
	l := newLoop(full, out, in[0], in[1])
	return kernels{f32: contractLoop[float32](l), f64: contractLoop[float64](l)}
}

func contractLoop[T kernel.Float](l loop) func(y []T, x [][]T) error {
	n, inner := l.inner(), contractInner[T](l.step(1), l.step(2), l.step(0))
	return reduced(l, func(y []T, x [][]T, off, step []int, count int) {
		to, p, q := off[0], off[1], off[2]
		for range count {
			inner(n, x[0][p:], x[1][q:], y[to:])
			to, p, q = to+step[0], p+step[1], q+step[2]
		}
	})
}

// contractInner adds the products of n elements of a and b to y, where each of the
// three moves on (1) or stands still (0).
func contractInner[T kernel.Float](a, b, y int) func(n int, a, b, y []T) {
	switch [3]int{a, b, y} {
	case [3]int{1, 1, 0}:
		return func(n int, a, b, y []T) { y[0] += kernel.Dot(a[:n], b[:n]) }
	case [3]int{1, 0, 0}:
		return func(n int, a, b, y []T) { y[0] += kernel.Sum(a[:n]) * b[0] }
	case [3]int{0, 1, 0}:
		return func(n int, a, b, y []T) { y[0] += a[0] * kernel.Sum(b[:n]) }
	case [3]int{1, 1, 1}:
		return func(n int, a, b, y []T) { kernel.MulAdd(y[:n], a[:n], b[:n], y[:n]) }
	case [3]int{1, 0, 1}:
		return func(n int, a, b, y []T) { kernel.Axpy(b[0], a[:n], y[:n]) }
	default: // 0, 1, 1: nothing stands still in all three
		return func(n int, a, b, y []T) { kernel.Axpy(a[0], b[:n], y[:n]) }
	}
}

// product returns the operands of n if it is an elementwise product.
func product(n *Node) (x, y *Node, ok bool) {
	r, _ := unwrap(n.Op())
	if mul, isBinary := r.(binary); isBinary && mul.name == "mul" {
		in := Children(n)
		return in[0], in[1], true
	}
	return nil, nil, false
}
