package graph_test

import (
	"testing"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// narrowings are formulas of x [2,5,4], y [2,5,4], a table [5,4], weights [4,3] and scores [2,3,5,5], whose selection moves
// through all operations, or through none.
var narrowings = []struct {
	name  string
	moves bool
	build func(b *builder, x, y, table, w, scores *node) *node
}{
	{"pointwise", true, func(b *builder, x, _, _, _, _ *node) *node { return b.Slice(b.Tanh(b.Affine(x, 2, 1)), 1, 0, 1) }},
	{"places", true, func(b *builder, x, _, _, _, _ *node) *node { return b.Gather(b.Exp(x), 1, 3, 0, 3) }},
	{"every second", true, func(b *builder, x, _, _, _, _ *node) *node { return b.Every(b.Exp(x), 1, 2) }},
	{"pairs", true, func(b *builder, x, y, table, _, _ *node) *node { return b.Slice(b.Add(b.Mul(x, y), table), 1, 4, 5) }},
	{"repeated operand", true, func(b *builder, x, y, table, _, _ *node) *node {
		return b.Slice(b.Mul(b.Exp(x), b.Add(b.SumAxis(y, 1), b.SumAxis(table, 0))), 1, 1, 3)
	}},
	{"norm", true, func(b *builder, x, _, _, _, _ *node) *node {
		centred := b.Sub(x, b.SumAxis(x, 2))
		return b.Slice(b.Div(centred, b.SumTo(b.Square(centred), 2, 5, 1)), 1, 2, 3)
	}},
	{"sum of other axes", true, func(b *builder, _, _, _, _, s *node) *node { return b.Slice(b.SumTo(b.Exp(s), 3, 5, 5), 1, 0, 2) }},
	{"repeated along the axis", true, func(b *builder, x, _, table, _, _ *node) *node {
		return b.Slice(b.Exp(b.Add(x, b.BroadcastTo(b.SumAxis(table, 0), 2, 5, 4))), 1, 0, 1)
	}},
	{"repeated beside the axis", true, func(b *builder, _, _, table, _, _ *node) *node {
		return b.Slice(b.Exp(b.BroadcastTo(b.Tanh(table), 2, 5, 4)), 1, 0, 1)
	}},
	{"dense layer", true, func(b *builder, x, _, _, w, _ *node) *node {
		return b.Slice(b.MatMul(b.Exp(x), w, false, false), 1, 0, 1)
	}},
	{"heads", true, func(b *builder, x, _, _, _, _ *node) *node {
		return b.Slice(b.Exp(b.Transpose(b.Reshape(b.Exp(x), 2, 5, 2, 2), 0, 2, 1, 3)), 2, 4, 5)
	}},
	{"softmax of other axes", true, func(b *builder, _, _, _, _, s *node) *node { return b.Slice(b.Softmax(b.Exp(s)), 2, 0, 1) }},
	{"queries", true, func(b *builder, x, y, _, _, _ *node) *node {
		return b.Slice(b.MatMul(b.Softmax(b.MatMul(b.Exp(x), y, false, true)), b.Tanh(y), false, false), 1, 0, 1)
	}},
	{"rows of a transposed factor", true, func(b *builder, x, y, _, _, _ *node) *node {
		return b.Slice(b.MatMul(b.Transpose(b.Exp(x)), y, true, true), 1, 0, 2)
	}},
	{"matrices of stacks", true, func(b *builder, _, _, _, _, s *node) *node {
		return b.Slice(b.MatMul(b.Exp(s), b.Tanh(s), false, false), 1, 1, 2)
	}},
	{"stack and matrix", true, func(b *builder, _, _, _, w, s *node) *node {
		return b.Slice(b.MatMul(b.Exp(s), b.MatMul(b.Fill(1, 5, 4), w, false, false), false, false), 1, 1, 2)
	}},
	{"behind other operations", true, func(b *builder, x, _, _, _, _ *node) *node {
		return b.Tanh(b.Reshape(b.Slice(b.Exp(x), 1, 0, 1), 2, 4))
	}},
	{"used in two selected values", true, func(b *builder, x, y, _, _, _ *node) *node {
		e := b.Exp(x)
		return b.Slice(b.Add(b.Mul(e, y), b.Tanh(e)), 1, 0, 1)
	}},
	{"features", false, func(b *builder, x, _, _, _, _ *node) *node { return b.Slice(b.Exp(x), 2, 0, 1) }},
	{"examples", false, func(b *builder, x, _, _, _, _ *node) *node { return b.Slice(b.Exp(x), 0, 0, 1) }},
	{"softmax along the axis", false, func(b *builder, _, _, _, _, s *node) *node {
		return b.Transpose(b.Slice(b.Transpose(b.LogSoftmax(s)), 2, 0, 1))
	}},
	{"columns of a product", false, func(b *builder, x, y, _, _, _ *node) *node {
		return b.Slice(b.Transpose(b.MatMul(x, y, false, true)), 1, 0, 1)
	}},
	{"one place, repeated", false, func(b *builder, x, _, table, _, _ *node) *node {
		one := b.SumTo(b.Exp(x), 2, 1, 4)
		return b.SumTo(b.Gather(b.Mul(one, b.SumTo(table, 1, 4)), 1, 0, 0), 2, 1, 4)
	}},
	{"mean", false, func(b *builder, x, _, _, _, _ *node) *node { return b.SumAxis(b.Exp(x), 1) }},
	{"needed as a whole, too", false, func(b *builder, x, _, _, _, _ *node) *node {
		e := b.Exp(x)
		return b.Add(b.Slice(e, 1, 0, 1), b.SumAxis(e, 1))
	}},
	{"two selections", false, func(b *builder, x, _, _, _, _ *node) *node {
		e := b.Exp(x)
		return b.Add(b.Slice(e, 1, 0, 1), b.Slice(e, 1, 1, 2))
	}},
	{"joined axes", false, func(b *builder, x, _, _, _, _ *node) *node { return b.Slice(b.Reshape(b.Exp(x), 2, 20, 1), 1, 0, 7) }},
}

// TestNarrow compares formulas, and their derivatives by all operands, with what Narrow makes of them, and counts operations.
func TestNarrow(t *testing.T) {
	for _, c := range narrowings {
		t.Run(c.name, func(t *testing.T) {
			b := graph.NewBuilder(tensor.Float64)
			in := inputs(b, "in", []int{2, 5, 4}, []int{2, 5, 4}, []int{5, 4}, []int{4, 3}, []int{2, 3, 5, 5})
			y := c.build(b, in[0], in[1], in[2], in[3], in[4])
			narrow := b.Narrow(y)
			noErr(t, b)
			values := normals(rngFor(t), in)
			all := func(y *node) []*node { return append([]*node{y}, graph.Grad(b, b.Sum(b.Square(y)), in...)...) }
			wantSame(t, "value and derivatives", evaluate(t, b, in, all(narrow), values), evaluate(t, b, in, all(y), values), 1e-12)
			before, after := operations(t, b, y), operations(t, b, narrow)
			if after < before != c.moves || after > before {
				t.Errorf("from %d to %d operations, want fewer: %t", before, after, c.moves)
			}
			if again := b.Narrow(narrow); again != narrow {
				t.Errorf("a second pass moves the selection further")
			}
		})
	}
}

func operations(t *testing.T, b *builder, y *node) int {
	t.Helper()
	p, err := graph.Compile(b, []*node{y}, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, each := p.Flops()
	return each
}
