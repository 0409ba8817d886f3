package graph

import (
	"fmt"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// contract is the product of two arrays that broadcast, summed to a shape, without the
// product ever being formed. Compile makes it of a sum over a product.
type contract struct {
	to tensor.Shape // of the sums
}

func (r contract) Key() string { return "contract to " + shapeText(r.to) }

func (r contract) Shape(in []tensor.Shape) (tensor.Shape, error) {
	full, err := broadcast(in[0], in[1])
	if err != nil {
		return nil, err
	}
	if !canReduce(full, r.to) {
		return nil, fmt.Errorf("%v does not broadcast to the product's shape %v", r.to, full)
	}
	return r.to, nil
}

func (r contract) Forward(in []tensor.Shape, out tensor.Shape) Loops {
	full, _ := broadcast(in[0], in[1])
	l := newLoop(full, out, in[0], in[1])
	return Loops{F32: contractLoop[float32](l), F64: contractLoop[float64](l)}
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

// sums returns the loops over a part of the product's elements at a time, and how many elements of
// the product make one element of the result; 0 if these do not lie one after the other.
func (r contract) sums(in []tensor.Shape, out tensor.Shape) (each int, f32 rangeLoop[float32], f64 rangeLoop[float64]) {
	full, _ := broadcast(in[0], in[1])
	l := newLoop(full, out, in[0], in[1])
	if l.step(0) != 0 || l.outer() != size(out) {
		return 0, nil, nil
	}
	return l.inner(), contractRange[float32](l), contractRange[float64](l)
}

// contractRange is contractLoop over a part of the product's elements.
func contractRange[T kernel.Float](l loop) rangeLoop[T] {
	n, inner := l.inner(), contractInner[T](l.step(1), l.step(2), 0)
	rows, step := l.rows(), l.rowStep()
	return func(y []T, x [][]T, from, to int, _ []T) {
		for i := from / n; i < to/n; {
			a, b := l.offset(1, i), l.offset(2, i)
			for left := rows - i%rows; left > 0 && i < to/n; left-- {
				y[i] = 0
				inner(n, x[0][a:], x[1][b:], y[i:])
				i, a, b = i+1, a+step[1], b+step[2]
			}
		}
	}
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
