package graph

import (
	"slices"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// binary is an operation on pairs of elements, with broadcasting.
type binary struct {
	name     string            // the key
	commutes bool              // the result for (y, x) is that for (x, y), to the last bit
	f32      pairwise[float32] // kernels for float32
	f64      pairwise[float64] // kernels for float64
	// local returns the cotangent of input i before it is summed to its shape; nil means zero.
	local func(b *Builder, i int, in []*Node, out, ct *Node) *Node
	onnx  func(w *ONNX, x, y string) string // writes the function as nodes of ONNX; nil: it has no form in ONNX
}

// pairOperator is the ONNX form of a function that is an operator of ONNX.
func pairOperator(name string) func(w *ONNX, x, y string) string {
	return func(w *ONNX, x, y string) string { return w.Node(name, nil, x, y) }
}

// pairwise are the kernels of an operation on pairs.
type pairwise[T kernel.Float] struct {
	each func(r kernel.Rows, dst, a, b []T) // for rows of both operands
	// still[i] is the kernel for an operand i that has a single number in each row; nil where there is
	// no such kernel.
	still [2]func(r kernel.Rows, dst, numbers, x []T)
}

func (r binary) Key() string { return r.name }

func (r binary) Shape(in []tensor.Shape) (tensor.Shape, error) { return broadcast(in[0], in[1]) }

func (r binary) Pullback(b *Builder, i int, in []*Node, out, ct *Node) *Node {
	local := r.local(b, i, in, out, ct)
	if local == nil {
		return nil
	}
	return b.summed(local, in[i].Shape()...)
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
// cotangent, that row summed over the other broadcast axes only. The rows of one example
// get an axis of their own, along which the operands broadcast as well.
func (r binary) RowPullback(b *Builder, i int, in []*Node, out, ct *Node) (Outer, bool) {
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
	local := r.local(b, i, operands, split(out, 1), own)
	if local == nil {
		return Outer{}, false
	}
	sum := b.summed(local, to...)
	if sum == own && full == 2 {
		return Outer{Right: ct}, true
	}
	return Outer{Right: b.Reshape(sum, rows, size(s))}, true
}

func (r binary) Forward(in []tensor.Shape, out tensor.Shape) Loops {
	l := newLoop(out, out, in[0], in[1])
	return Loops{F32: binaryLoop(l, r.f32), F64: binaryLoop(l, r.f64)}
}

// ONNX implements ONNXForm. An operand that is the same number everywhere is one number, if the other one has all elements.
func (r binary) ONNX(w *ONNX, in []ONNXValue, out []Extent) string {
	if r.onnx == nil {
		return w.Failf("the function has no form in ONNX")
	}
	in = slices.Clone(in)
	for i := range in {
		v, ok := w.uniform[in[i].Name]
		switch {
		case !ok || !slices.Equal(in[1-i].Shape, out):
		case v == 1 && r.name == "mul":
			return in[1-i].Name
		default:
			in[i] = ONNXValue{Name: w.Number(v)}
		}
	}
	return w.elementwise(in, out, func(in ...string) string { return r.onnx(w, in[0], in[1]) })
}

// spreadBlock is the number of copies that are made of an operand that stands still. They are
// few enough to stay in the fastest cache.
const spreadBlock = 512

// binaryLoop runs f over all elements.
func binaryLoop[T kernel.Float](l loop, f pairwise[T]) func(y []T, x [][]T) error {
	all := binaryRange(l, f)
	var scratch []T
	if l.step(1) == 0 || l.step(2) == 0 {
		scratch = make([]T, scratchLen)
	}
	return func(y []T, x [][]T) error {
		all(y, x, 0, len(y), scratch)
		return nil
	}
}

func (r binary) ranges(l loop) (rangeLoop[float32], rangeLoop[float64]) {
	return binaryRange(l, r.f32), binaryRange(l, r.f64)
}

// binaryRange runs f over a part of the elements: over as many whole rows at a time as lie at equal
// distances, and over parts of rows.
func binaryRange[T kernel.Float](l loop, f pairwise[T]) rangeLoop[T] {
	n, run := l.inner(), f.rows(l)
	rows, step := l.rows(), l.rowStep()
	return func(y []T, x [][]T, from, to int, scratch []T) {
		for from < to {
			i, at := from/n, from%n
			r, end := kernel.Rows{Count: 1, A: step[1], B: step[2]}, min(to, from-at+n)
			if at == 0 && to-from > n {
				r.Count = min(rows-i%rows, (to-from)/n)
				end = from + r.Count*n
			}
			a, b := l.offset(1, i)+at*l.step(1), l.offset(2, i)+at*l.step(2)
			run(r, y[from:end], x[0][a:], x[1][b:], scratch)
			from = end
		}
	}
}

// rows returns the function that computes rows, each the inner loop or a part of it, from rows of
// the operands. An operand that stands still has one element in a row; where there is no kernel for
// that, it is copied, into scratch.
func (f pairwise[T]) rows(l loop) func(r kernel.Rows, y, a, b, scratch []T) {
	stepA, stepB := l.step(1), l.step(2)
	switch {
	case stepA == 1 && stepB == 1:
		return func(r kernel.Rows, y, a, b, _ []T) { f.each(r, y, a, b) }
	case stepA == 0 && stepB == 1 && f.still[0] != nil:
		return func(r kernel.Rows, y, a, b, _ []T) { f.still[0](r, y, a, b) }
	case stepA == 1 && stepB == 0 && f.still[1] != nil:
		return func(r kernel.Rows, y, a, b, _ []T) { f.still[1](kernel.Rows{Count: r.Count, A: r.B, B: r.A}, y, b, a) }
	}
	return func(r kernel.Rows, y, a, b, scratch []T) {
		n := len(y) / r.Count
		for i := range r.Count {
			a, b, y := a[i*r.A:], b[i*r.B:], y[i*n:][:n]
			for at := 0; at < n; at += spreadBlock {
				m := min(spreadBlock, n-at)
				f.each(kernel.Rows{Count: 1}, y[at:at+m], operandRange(a, stepA, at, m, scratch), operandRange(b, stepB, at, m, scratch[spreadBlock:]))
			}
		}
	}
}

// operandRange returns n elements of a row from at on, or copies of the single element
// that the row repeats.
func operandRange[T kernel.Float](row []T, step, at, n int, copies []T) []T {
	if step == 1 {
		return row[at : at+n]
	}
	fillWith(copies[:n], row[0])
	return copies[:n]
}

func sums[T kernel.Float]() pairwise[T] {
	f := kernel.ShiftByRow[T]
	return pairwise[T]{kernel.AddByRow[T], [2]func(kernel.Rows, []T, []T, []T){f, f}}
}

func differences[T kernel.Float]() pairwise[T] {
	return pairwise[T]{kernel.SubByRow[T], [2]func(kernel.Rows, []T, []T, []T){1: kernel.LowerByRow[T]}}
}

func products[T kernel.Float]() pairwise[T] {
	f := kernel.ScaleByRow[T]
	return pairwise[T]{kernel.MulByRow[T], [2]func(kernel.Rows, []T, []T, []T){f, f}}
}

// Add returns x + y.
func (b *Builder) Add(x, y *Node) *Node {
	return b.Apply(binary{"add", true, sums[float32](), sums[float64](),
		func(_ *Builder, _ int, _ []*Node, _, ct *Node) *Node { return ct }, pairOperator("Add")}, x, y)
}

// Plus returns x + y, and y where x is nil, so that a sum may begin with nothing.
func (b *Builder) Plus(x, y *Node) *Node {
	if x == nil && y != nil {
		return y
	}
	return b.Add(x, y)
}

// Sub returns x − y.
func (b *Builder) Sub(x, y *Node) *Node {
	return b.Apply(binary{"sub", false, differences[float32](), differences[float64](),
		func(b *Builder, i int, _ []*Node, _, ct *Node) *Node {
			if i == 1 {
				return b.Neg(ct)
			}
			return ct
		}, pairOperator("Sub")}, x, y)
}

// Mul returns the elementwise product x ∘ y.
func (b *Builder) Mul(x, y *Node) *Node { return b.Apply(mul(), x, y) }

func mul() binary {
	return binary{"mul", true, products[float32](), products[float64](),
		func(b *Builder, i int, in []*Node, _, ct *Node) *Node { return b.Mul(ct, in[1-i]) }, pairOperator("Mul")}
}

// Div returns the elementwise quotient x / y.
func (b *Builder) Div(x, y *Node) *Node {
	return b.Apply(binary{"div", false, pairwise[float32]{each: kernel.DivByRow[float32]}, pairwise[float64]{each: kernel.DivByRow[float64]},
		func(b *Builder, i int, in []*Node, out, ct *Node) *Node {
			if i == 0 {
				return b.Div(ct, in[1])
			}
			return b.Neg(b.Div(b.Mul(ct, out), in[1]))
		}, pairOperator("Div")}, x, y)
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
