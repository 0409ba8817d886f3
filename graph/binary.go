package graph

import (
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// binary is an operation on pairs of elements, with broadcasting.
type binary struct {
	name     string
	commutes bool // the result for (y, x) is that for (x, y), to the last bit
	f32      pairwise[float32]
	f64      pairwise[float64]
	// local returns the cotangent of input i before it is summed to its shape.
	local func(b *Builder, i int, in []*Node, out, ct *Node) *Node
}

// pairwise are the kernels of an operation on pairs.
type pairwise[T kernel.Float] struct {
	each func(dst, a, b []T)
	// still has the one for an operand, by its number, that is c throughout; nil where
	// there is none.
	still [2]func(dst []T, c T, x []T)
}

func (r binary) Key() string { return r.name }

func (r binary) Shape(in []tensor.Shape) (tensor.Shape, error) { return broadcast(in[0], in[1]) }

func (r binary) Pullback(b *Builder, i int, in []*Node, out, ct *Node) *Node {
	return b.summed(r.local(b, i, in, out, ct), in[i].Shape()...)
}

// RowWise: a batched operand must reach axis 0 of the output with all its rows, an
// unbatched one must not reach it with more than one row.
func (r binary) RowWise(batched []bool, in []tensor.Shape) bool {
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

// RowPullback: a parameter that is broadcast over the batch has, in each row of the
// cotangent, that row summed over the other broadcast axes only.
func (r binary) RowPullback(b *Builder, i int, in []*Node, out, ct *Node) (Outer, bool) {
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
	own := split(ct, rows/examples)
	sum := b.summed(local(b, i, operands, split(out, 1), own), to...)
	if sum == own && full == 2 {
		return Outer{Right: ct}, true
	}
	return Outer{Right: b.Reshape(sum, rows, size(s))}, true
}

func (r binary) Forward(in []tensor.Shape, out tensor.Shape) Loops {
	l := newLoop(out, out, in[0], in[1])
	return Loops{F32: binaryLoop(l, r.f32), F64: binaryLoop(l, r.f64)}
}

// spreadBlock is the number of copies that are made of an operand that stands still. They are
// few enough to stay in the fastest cache.
const spreadBlock = 512

// binaryLoop runs f over the inner loop.
func binaryLoop[T kernel.Float](l loop, f pairwise[T]) func(y []T, x [][]T) error {
	n, outer, c := l.inner(), l.outer(), l.cursor()
	row := f.row(l)
	var scratch []T
	if l.step(1) == 0 || l.step(2) == 0 {
		scratch = make([]T, 2*spreadBlock)
	}
	return func(y []T, x [][]T) error {
		for i := range outer {
			row(y[i*n:(i+1)*n], x[0][c.off[1]:], x[1][c.off[2]:], 0, scratch)
			c.next()
		}
		return nil
	}
}

func (r binary) ranges(l loop) (rangeLoop[float32], rangeLoop[float64]) {
	return binaryRange(l, r.f32), binaryRange(l, r.f64)
}

// binaryRange is binaryLoop over a part of the elements.
func binaryRange[T kernel.Float](l loop, f pairwise[T]) rangeLoop[T] {
	n, row := l.inner(), f.row(l)
	rows, step := l.rows(), l.rowStep()
	return func(y []T, x [][]T, from, to int, scratch []T) {
		for from < to {
			i := from / n
			a, b := l.offset(1, i), l.offset(2, i)
			for left := rows - i%rows; left > 0 && from < to; left-- {
				end := min(to, (i+1)*n)
				row(y[from:end], x[0][a:], x[1][b:], from-i*n, scratch)
				from, i, a, b = end, i+1, a+step[1], b+step[2]
			}
		}
	}
}

// row returns the function that fills a part of an inner loop, the elements from at on,
// from rows of the operands. An operand that stands still has one element; where there is
// no kernel for that, it is copied, into scratch.
func (f pairwise[T]) row(l loop) func(y, a, b []T, at int, scratch []T) {
	stepA, stepB := l.step(1), l.step(2)
	switch {
	case stepA == 1 && stepB == 1:
		return func(y, a, b []T, at int, _ []T) { f.each(y, a[at:at+len(y)], b[at:at+len(y)]) }
	case stepA == 0 && stepB == 1 && f.still[0] != nil:
		return func(y, a, b []T, at int, _ []T) { f.still[0](y, a[0], b[at:at+len(y)]) }
	case stepA == 1 && stepB == 0 && f.still[1] != nil:
		return func(y, a, b []T, at int, _ []T) { f.still[1](y, b[0], a[at:at+len(y)]) }
	}
	return func(y, a, b []T, at int, scratch []T) {
		for from := 0; from < len(y); from += spreadBlock {
			n := min(spreadBlock, len(y)-from)
			f.each(y[from:from+n], operandRange(a, stepA, at+from, n, scratch), operandRange(b, stepB, at+from, n, scratch[spreadBlock:]))
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

func sums[T kernel.Float]() pairwise[T] {
	f := kernel.AddScalar[T]
	return pairwise[T]{kernel.Add[T], [2]func([]T, T, []T){f, f}}
}

func differences[T kernel.Float]() pairwise[T] {
	less := func(dst []T, c T, x []T) { kernel.AddScalar(dst, -c, x) }
	return pairwise[T]{kernel.Sub[T], [2]func([]T, T, []T){1: less}}
}

func products[T kernel.Float]() pairwise[T] {
	f := kernel.Scale[T]
	return pairwise[T]{kernel.Mul[T], [2]func([]T, T, []T){f, f}}
}

// Add returns x + y.
func (b *Builder) Add(x, y *Node) *Node {
	return b.Apply(binary{"add", true, sums[float32](), sums[float64](),
		func(_ *Builder, _ int, _ []*Node, _, ct *Node) *Node { return ct }}, x, y)
}

// Sub returns x − y.
func (b *Builder) Sub(x, y *Node) *Node {
	return b.Apply(binary{"sub", false, differences[float32](), differences[float64](),
		func(b *Builder, i int, _ []*Node, _, ct *Node) *Node {
			if i == 1 {
				return b.Neg(ct)
			}
			return ct
		}}, x, y)
}

// Mul returns the elementwise product x ∘ y.
func (b *Builder) Mul(x, y *Node) *Node { return b.Apply(mul(), x, y) }

func mul() binary {
	return binary{"mul", true, products[float32](), products[float64](),
		func(b *Builder, i int, in []*Node, _, ct *Node) *Node { return b.Mul(ct, in[1-i]) }}
}

// Div returns the elementwise quotient x / y.
func (b *Builder) Div(x, y *Node) *Node {
	return b.Apply(binary{"div", false, pairwise[float32]{each: kernel.Div[float32]}, pairwise[float64]{each: kernel.Div[float64]},
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
