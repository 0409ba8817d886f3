package graph_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// fuzzed are the operations with their attributes read from bytes.
var fuzzed = []func(b *builder, r *reader, x, y *node) *node{
	func(b *builder, _ *reader, x, y *node) *node { return b.Add(x, y) },
	func(b *builder, _ *reader, x, y *node) *node { return b.Div(x, y) },
	func(b *builder, _ *reader, x, y *node) *node { return b.AddBias(x, y) },
	func(b *builder, r *reader, x, y *node) *node { return b.MatMul(x, y, r.bit(), r.bit()) },
	func(b *builder, _ *reader, x, _ *node) *node { return b.Gram(x) },
	func(b *builder, _ *reader, x, _ *node) *node { return b.Cholesky(x) },
	func(b *builder, r *reader, x, y *node) *node { return b.SolveLower(x, y, r.bit()) },
	func(b *builder, _ *reader, x, _ *node) *node { return b.LogDet(x) },
	func(b *builder, r *reader, x, _ *node) *node { return b.SumTo(x, r.ints()...) },
	func(b *builder, r *reader, x, _ *node) *node { return b.SumAxis(x, r.int()) },
	func(b *builder, _ *reader, x, _ *node) *node { return b.Mean(x) },
	func(b *builder, r *reader, x, _ *node) *node { return b.BroadcastTo(x, r.ints()...) },
	func(b *builder, r *reader, x, _ *node) *node { return b.Reshape(x, r.ints()...) },
	func(b *builder, r *reader, x, _ *node) *node { return b.Transpose(x, r.ints()...) },
	func(b *builder, r *reader, x, _ *node) *node { return b.Slice(x, r.int(), r.int(), r.int()) },
	func(b *builder, r *reader, x, _ *node) *node { return b.Pad(x, r.int(), r.int(), r.int()) },
	func(b *builder, r *reader, x, y *node) *node { return b.Concat(0, []*node{x, y, x}[:r.int()&3]...) },
	func(b *builder, _ *reader, x, _ *node) *node { return b.LogSoftmax(x) },
	func(b *builder, _ *reader, x, _ *node) *node { return b.Diag(x) },
	func(b *builder, _ *reader, x, _ *node) *node { return b.Diagonal(x) },
	func(b *builder, _ *reader, x, _ *node) *node { return b.Lower(x) },
	func(b *builder, _ *reader, x, _ *node) *node { return b.PackLower(x) },
	func(b *builder, r *reader, x, _ *node) *node { return b.Add(x, b.Fill(1, r.small()...)) },
	func(b *builder, r *reader, x, _ *node) *node { return b.Mul(x, b.Eye(r.int())) },
	func(b *builder, r *reader, x, _ *node) *node { return b.Mul(x, b.OneHot(r.ints(), r.int())) },
	func(b *builder, r *reader, x, _ *node) *node {
		return b.Mul(x, b.Const("c", []float64{1, 2, 3, 4}, r.ints()...))
	},
	func(b *builder, _ *reader, x, y *node) *node {
		return graph.JVP(b, []*node{x}, []*node{x}, []*node{y})[0]
	},
}

// reader takes numbers from bytes; the largest and the smallest byte stand for the
// largest and the smallest int, and 0 follows the last byte.
type reader struct{ data []byte }

func (r *reader) int() int {
	if len(r.data) == 0 {
		return 0
	}
	v := int8(r.data[0])
	r.data = r.data[1:]
	switch v {
	case math.MaxInt8:
		return math.MaxInt
	case math.MinInt8:
		return math.MinInt
	}
	return int(v)
}

func (r *reader) bit() bool { return r.int()&1 == 1 }

// ints are up to four numbers.
func (r *reader) ints() []int {
	v := make([]int, (r.int()&7)%5)
	for i := range v {
		v[i] = r.int()
	}
	return v
}

// small are ints of which only the extreme ones are large.
func (r *reader) small() []int {
	v := r.ints()
	for i, n := range v {
		if n > -100 && n < 127 {
			v[i] = n % 16
		}
	}
	return v
}

const fuzzSize = 1 << 12 // elements of an array that is computed, so that a run is quick

// FuzzShapes applies operations to arrays of any shapes, with any whole numbers as
// attributes: each gives an error, or a node that can be differentiated and run.
func FuzzShapes(f *testing.F) {
	for op := range fuzzed {
		for _, s := range [][]byte{
			{}, {0}, {2, 2, 3, 2, 2, 3}, {2, 2, 3, 2, 3, 4}, {1, 3, 0, 2, 1, 5}, {2, 3, 3, 2, 3, 3, 2, 9, 1},
			{3, 2, 3, 3, 3, 2, 3, 3, 2, 3, 3}, {2, 2, 3, 1, 3, 0, 1, 2}, {2, 3, 3, 2, 3, 1, 1, 2},
			{1, 6, 1, 6, 2, 2, 3}, {2, 1, 6, 1, 6, 2, 255, 250}, {2, 2, 3, 1, 1, 2, 127, 127}, {1, 1, 1, 1, 1, 128, 127},
			{2, 4, 4, 2, 4, 2, 4, 127, 127, 2, 2}, {4, 1, 2, 1, 2, 4, 2, 1, 2, 1, 4, 3, 2, 1, 0},
		} {
			f.Add(uint(op), s)
		}
	}
	f.Fuzz(func(t *testing.T, op uint, data []byte) {
		b, r := graph.NewBuilder(tensor.Float64), &reader{data}
		x, y := b.Input("x", r.ints()...), b.Input("y", r.ints()...)
		if b.Err() != nil || max(x.Shape().TotalSize(), y.Shape().TotalSize()) > fuzzSize {
			return
		}
		z := fuzzed[op%uint(len(fuzzed))](b, r, x, y)
		if (z == nil) != (b.Err() != nil) {
			t.Fatalf("node %v with error %v", z, b.Err())
		}
		if z != nil && z.Shape().TotalSize() <= fuzzSize {
			runGradients(t, b, []*node{x, y}, z)
		}
	})
}

// runGradients runs z and its gradients, which may fail for lack of positive
// definiteness only.
func runGradients(t *testing.T, b *builder, in []*node, z *node) {
	t.Helper()
	out := append(graph.Grad(b, b.Sum(b.Square(z)), in...), z)
	noErr(t, b)
	m := newMachine(t, b, in, out, graph.Options{})
	for i, v := range normals(rand.New(rand.NewPCG(1, 0)), in) {
		setValues(m.args[i], v)
	}
	var indefinite *graph.NotPositiveDefiniteError
	if err := m.p.Run(); err != nil && !errors.As(err, &indefinite) {
		t.Fatal(err)
	}
	for _, n := range out {
		if got, want := m.p.Value(n).Size(), max(n.Shape().TotalSize(), 1); got != want {
			t.Fatalf("%d elements for shape %v", got, n.Shape())
		}
	}
}
