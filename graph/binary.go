package graph

import (
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// binary is an operation on pairs of elements, with broadcasting.
type binary struct {
	name string
	f32  func(dst, a, b []float32)
	f64  func(dst, a, b []float64)
	// local returns the cotangent of input i before it is summed to its shape.
	local func(b *Builder, i int, in []*Node, out, ct *Node) *Node
}

func (r binary) key() string { return r.name }

func (r binary) shape(in []tensor.Shape) (tensor.Shape, error) { return broadcast(in[0], in[1]) }

func (r binary) pullback(b *Builder, i int, in []*Node, out, ct *Node) *Node {
	return b.SumTo(r.local(b, i, in, out, ct), in[i].Shape()...)
}

// rowWise: a batched operand must reach axis 0 of the output with all its rows, an
// unbatched one must not reach it with more than one row.
func (r binary) rowWise(batched []bool, in []tensor.Shape) bool {
	out, err := broadcast(in[0], in[1])
	if err != nil || len(out) == 0 {
		return false
	}
	for i, s := range in {
		full := len(s) == len(out)
		if batched[i] && !(full && s[0] == out[0]) || !batched[i] && full && s[0] > 1 {
			return false
		}
	}
	return true
}

// rowPullback: a parameter that is broadcast over the batch has, in each row of the
// cotangent, that row summed over the other broadcast axes only.
func (r binary) rowPullback(b *Builder, i int, in []*Node, out, ct *Node) (Outer, bool) {
	return broadcastRows(b, i, in, out, ct, r.local)
}

// broadcastRows are the Jacobian rows of operand i of an operation on elements that
// broadcast, where local gives the cotangent before it is summed to the operand's
// shape. The rows of one example get an axis of their own, along which the operands
// broadcast as well.
func broadcastRows(b *Builder, i int, in []*Node, out, ct *Node,
	local func(b *Builder, i int, in []*Node, out, ct *Node) *Node) (Outer, bool) {
	s, full := in[i].Shape(), ct.Dims()
	if full < 2 || len(s) > full || len(s) == full && s[0] != 1 {
		return Outer{}, false
	}
	rows, examples := ct.Shape()[0], out.Shape()[0]
	split := func(n *Node, per int) *Node {
		return b.Reshape(n, append([]int{examples, per}, n.Shape()[1:]...)...)
	}
	operands := []*Node{in[0], in[1]}
	if n := in[1-i]; n.Dims() == full && n.Shape()[0] == examples {
		operands[1-i] = split(n, 1)
	}
	to := make([]int, full+1)
	to[0], to[1] = examples, rows/examples
	for d := 1; d < full; d++ {
		to[d+1] = extent(s, d-full+len(s))
	}
	sum := b.SumTo(local(b, i, operands, split(out, 1), split(ct, rows/examples)), to...)
	return Outer{Right: b.Reshape(sum, rows, size(s))}, true
}

func (r binary) kernels(in []tensor.Shape, out tensor.Shape) kernels {
	l := newLoop(out, out, in[0], in[1])
	return kernels{f32: binaryLoop(l, r.f32), f64: binaryLoop(l, r.f64)}
}

// spreadBlock is how many copies are made of an operand that stands still: few
// enough to stay in the fastest cache.
const spreadBlock = 512

// binaryLoop runs f over the inner loop. If an operand stands still along it, f is
// given copies of its element, and runs over blocks as long as they are.
func binaryLoop[T kernel.Float](l loop, f func(dst, a, b []T)) func(y []T, x [][]T) error {
	n, outer, c, block := l.inner(), l.outer(), l.cursor(), l.inner()
	var copies []T
	if l.step(1) == 0 || l.step(2) == 0 {
		block = min(n, spreadBlock)
		copies = make([]T, block)
	}
	operand := func(k int, x []T) []T {
		if l.step(k) == 0 {
			fillWith(copies, x[c.off[k]])
			return nil
		}
		return x[c.off[k]:][:n]
	}
	part := func(x []T, from, to int) []T {
		if x == nil {
			return copies[:to-from]
		}
		return x[from:to]
	}
	return func(y []T, x [][]T) error {
		for i := range outer {
			row, a, b := y[i*n:(i+1)*n], operand(1, x[0]), operand(2, x[1])
			for from := 0; from < n; from += block {
				to := min(n, from+block)
				f(row[from:to], part(a, from, to), part(b, from, to))
			}
			c.next()
		}
		return nil
	}
}

func (r binary) ranges(l loop) (rangeLoop[float32], rangeLoop[float64]) {
	return binaryRange(l, r.f32), binaryRange(l, r.f64)
}

// binaryRange is binaryLoop over a part of the elements.
func binaryRange[T kernel.Float](l loop, f func(dst, a, b []T)) rangeLoop[T] {
	n, stepA, stepB := l.inner(), l.step(1), l.step(2)
	return func(y []T, x [][]T, from, to int, scratch []T) {
		for from < to {
			row := from / n
			at, end := from-row*n, min(to, (row+1)*n)
			if stepA == 0 || stepB == 0 {
				end = min(end, from+spreadBlock)
			}
			a := operandRange(x[0][l.offset(1, row):], stepA, at, end-from, scratch[:spreadBlock])
			b := operandRange(x[1][l.offset(2, row):], stepB, at, end-from, scratch[spreadBlock:])
			f(y[from:end], a, b)
			from = end
		}
	}
}

// operandRange returns n elements of a row from at on, or copies of the one element
// that the row repeats.
func operandRange[T kernel.Float](row []T, step, at, n int, copies []T) []T {
	if step == 1 {
		return row[at : at+n]
	}
	fillWith(copies[:n], row[0])
	return copies[:n]
}

// Add returns x + y.
func (b *Builder) Add(x, y *Node) *Node {
	return b.apply(binary{"add", kernel.Add[float32], kernel.Add[float64],
		func(_ *Builder, _ int, _ []*Node, _, ct *Node) *Node { return ct }}, x, y)
}

// Sub returns x − y.
func (b *Builder) Sub(x, y *Node) *Node {
	return b.apply(binary{"sub", kernel.Sub[float32], kernel.Sub[float64],
		func(b *Builder, i int, _ []*Node, _, ct *Node) *Node {
			if i == 1 {
				return b.Neg(ct)
			}
			return ct
		}}, x, y)
}

// Mul returns the elementwise product x ∘ y. Small factors of a large array are
// multiplied with each other first.
func (b *Builder) Mul(x, y *Node) *Node {
	if !b.usable("mul", x, y) {
		return nil
	}
	if large, small, ok := product(x); ok {
		if isSmall(x, large) {
			large, small = small, large
		}
		if isSmall(x, small) && isSmall(x, y) && sameShape(large.Shape(), x.Shape()) {
			if both := b.Mul(small, y); b.err == nil && isSmall(x, both) {
				return b.Mul(large, both)
			}
		}
	}
	return b.apply(binary{"mul", kernel.Mul[float32], kernel.Mul[float64],
		func(b *Builder, i int, in []*Node, _, ct *Node) *Node { return b.Mul(ct, in[1-i]) }}, x, y)
}

// isSmall reports whether an array is so much smaller than another that work on it
// does not count.
func isSmall(large, n *Node) bool { return 64*size(n.Shape()) <= size(large.Shape()) }

// Div returns the elementwise quotient x / y.
func (b *Builder) Div(x, y *Node) *Node {
	return b.apply(binary{"div", kernel.Div[float32], kernel.Div[float64],
		func(b *Builder, i int, in []*Node, out, ct *Node) *Node {
			if i == 0 {
				return b.Div(ct, in[1])
			}
			return b.Neg(b.Div(b.Mul(ct, out), in[1]))
		}}, x, y)
}

// AddBias returns x + bias, bias [n] added to every row of x [..., n].
func (b *Builder) AddBias(x, bias *Node) *Node {
	if !b.usable("add bias", x, bias) {
		return nil
	}
	if bias.Dims() != 1 || x.Dims() < 2 || x.Shape()[x.Dims()-1] != bias.Shape()[0] {
		return b.Failf("graph: add bias: shapes %v and %v", x.Shape(), bias.Shape())
	}
	return b.Add(x, bias)
}
