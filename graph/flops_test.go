package graph_test

import (
	"testing"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// flopsOf compiles one output of b and returns what a run takes.
func flopsOf(t *testing.T, b *builder, out *node) int {
	t.Helper()
	noErr(t, b)
	p, err := graph.Compile(b, []*node{out}, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	once, each := p.Flops()
	if once != 0 {
		t.Errorf("%d operations run once, expected none: everything varies", once)
	}
	return each
}

// TestFlops compares the counts of small programs with those made by hand.
func TestFlops(t *testing.T) {
	for _, c := range []struct {
		name  string
		want  int
		build func(b *builder, in func(shape ...int) *node) *node
	}{
		{"product", 2 * 3 * 4 * 5, func(b *builder, in func(...int) *node) *node { return b.MatMul(in(3, 5), in(5, 4), false, false) }},
		{"transposed stack", 2 * 7 * 3 * 4 * 5, func(b *builder, in func(...int) *node) *node { return b.MatMul(in(7, 5, 3), in(7, 4, 5), true, true) }},
		{"stack by a matrix", 2 * 7 * 3 * 4 * 5, func(b *builder, in func(...int) *node) *node { return b.MatMul(in(7, 3, 5), in(5, 4), false, false) }},
		{"gram, half of a product", 3 * 4 * 5, func(b *builder, in func(...int) *node) *node { return b.Gram(in(3, 5)) }},
		{"grams", 2 * 3 * 4 * 5, func(b *builder, in func(...int) *node) *node { return b.Gram(in(2, 3, 5)) }},
		{"factor and solution", 6*6*6/3 + 6*6*2, func(b *builder, in func(...int) *node) *node {
			return b.SolveLower(b.Cholesky(in(6, 6)), in(6, 2), true)
		}},
		{"functions and pairs", 12 + 12 + 12, func(b *builder, in func(...int) *node) *node { return b.Add(b.Tanh(in(3, 4)), b.Exp(in(3, 4))) }},
		{"a broadcast copies", 3 + 12, func(b *builder, in func(...int) *node) *node {
			return b.Mul(b.BroadcastTo(b.Exp(in(3, 1)), 3, 4), in(3, 4))
		}},
		{"sum of a product, which is not formed", 2 * 12, func(b *builder, in func(...int) *node) *node {
			return b.SumTo(b.Mul(in(3, 4), in(3, 4)), 3, 1)
		}},
		{"sum", 12 + 1, func(b *builder, in func(...int) *node) *node { return b.Exp(b.Sum(in(3, 4))) }},
		{"convolution", 2 * 2 * 5 * 4 * 4 * 3 * 3 * 3, func(b *builder, in func(...int) *node) *node {
			return b.Conv2D(in(2, 3, 6, 6), in(5, 3, 3, 3), 1, 0)
		}},
		{"convolution in groups", 2 * 2 * 4 * 4 * 4 * 2 * 3 * 3, func(b *builder, in func(...int) *node) *node {
			return b.Convolution(in(2, 4, 6, 6), in(4, 2, 3, 3), graph.ConvOptions{Groups: 2})
		}},
		{"copies", 0, func(b *builder, in func(...int) *node) *node {
			x := b.Slice(b.Transpose(in(3, 4)), 0, 1, 3)
			return b.Gather(b.Concat(0, x, x), 0, 2, 1)
		}},
		{"equal expressions once", 12 + 12, func(b *builder, in func(...int) *node) *node {
			x := in(3, 4)
			return b.Mul(b.Exp(x), b.Exp(x))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, count := graph.NewBuilder(tensor.Float64), 0
			out := c.build(b, func(shape ...int) *node {
				count++
				return b.Input(string(rune('a'+count)), shape...)
			})
			if got := flopsOf(t, b, out); got != c.want {
				t.Errorf("%d operations, expected %d", got, c.want)
			}
		})
	}
}

// TestFlopsOnce: what does not vary is counted apart, and the gradient of a product by one
// operand does not pay for the other's.
func TestFlopsOnce(t *testing.T) {
	b := graph.NewBuilder(tensor.Float32)
	x, w := b.Input("x", 3, 5), b.Input("w", 5, 4)
	y := b.MatMul(x, b.Exp(w), false, false)
	g := graph.Grad(b, b.Sum(b.Square(y)), x)
	noErr(t, b)
	p, err := graph.Compile(b, g, graph.Options{Varying: []*node{x}})
	if err != nil {
		t.Fatal(err)
	}
	once, each := p.Flops()
	if products := 2 * 2 * 3 * 4 * 5; once != 20 || each < products || each > products+2*12 {
		t.Errorf("%d operations once and %d in each run, expected 20, and two products of %d together with at most two functions", once, each, products)
	}
}
