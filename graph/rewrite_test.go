package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"
)

// rewritings are pairs of formulas that Compile makes the same program of.
var rewritings = map[string]func(b *builder, x, y, large, small *node) [2]*node{
	"reshape of a reshape": func(b *builder, x, y, _, _ *node) [2]*node {
		return [2]*node{b.Reshape(b.Reshape(x, 12), 2, 6), b.Reshape(x, 2, 6)}
	},
	"reshape back": func(b *builder, x, y, _, _ *node) [2]*node {
		return [2]*node{b.Exp(b.Reshape(b.Reshape(x, 12), 3, 4)), b.Exp(x)}
	},
	"what does nothing": func(b *builder, x, y, _, _ *node) [2]*node {
		return [2]*node{b.Exp(b.Reshape(b.SumTo(b.BroadcastTo(x, 3, 4), 3, 4), 3, 4)), b.Exp(x)}
	},
	"sum with a repeated": func(b *builder, x, y, _, _ *node) [2]*node {
		return [2]*node{b.Add(x, b.BroadcastTo(y, 3, 4)), b.Add(x, y)}
	},
	"product with a repeated": func(b *builder, x, y, _, _ *node) [2]*node {
		return [2]*node{b.Mul(b.BroadcastTo(y, 3, 4), x), b.Mul(y, x)}
	},
	"quotient with a repeated": func(b *builder, x, y, _, _ *node) [2]*node {
		return [2]*node{b.Div(x, b.BroadcastTo(y, 3, 4)), b.Div(x, y)}
	},
	"two repeated": func(b *builder, x, y, _, _ *node) [2]*node {
		return [2]*node{b.Add(b.BroadcastTo(y, 3, 4), b.BroadcastTo(y, 3, 4)), b.BroadcastTo(b.Add(y, y), 3, 4)}
	},
	"repeated twice": func(b *builder, x, y, _, _ *node) [2]*node {
		return [2]*node{b.BroadcastTo(b.BroadcastTo(y, 3, 4), 2, 3, 4), b.BroadcastTo(y, 2, 3, 4)}
	},
	"function of a repeated": func(b *builder, x, y, _, _ *node) [2]*node {
		return [2]*node{b.Tanh(b.BroadcastTo(y, 3, 4)), b.BroadcastTo(b.Tanh(y), 3, 4)}
	},
	"reshape of a repeated": func(b *builder, x, y, _, _ *node) [2]*node {
		return [2]*node{b.Reshape(b.BroadcastTo(y, 3, 4), 3, 2, 2), b.BroadcastTo(b.Reshape(y, 1, 2, 2), 3, 2, 2)}
	},
	"sum of a repeated": func(b *builder, x, y, _, _ *node) [2]*node {
		return [2]*node{b.SumTo(b.BroadcastTo(y, 3, 4), 3, 1), b.BroadcastTo(b.SumTo(y, 1), 3, 1)}
	},
	"sum of a scaled": func(b *builder, x, y, _, _ *node) [2]*node {
		return [2]*node{b.SumTo(b.Neg(x), 1, 4), b.Neg(b.SumTo(x, 1, 4))}
	},
	"sum of a scaled product": func(b *builder, x, y, _, _ *node) [2]*node {
		return [2]*node{b.Sum(b.Scale(b.Mul(x, y), 2)), b.Scale(b.Sum(b.Mul(x, y)), 2)}
	},
	"operands exchanged": func(b *builder, x, y, _, _ *node) [2]*node {
		return [2]*node{b.Sub(b.Add(x, y), b.Add(y, x)), b.Sub(b.Add(x, y), b.Add(x, y))}
	},
	"small factors": func(b *builder, x, y, large, small *node) [2]*node {
		return [2]*node{b.Mul(b.Mul(large, small), y), b.Mul(large, b.Mul(small, y))}
	},
	"smaller factors": func(b *builder, x, y, large, small *node) [2]*node {
		pairs := b.Reshape(large, 250, 2, 4)
		half := b.Exp(b.SumTo(pairs, 250, 1, 4))
		return [2]*node{b.Mul(b.Mul(pairs, half), y), b.Mul(pairs, b.Mul(half, y))}
	},
	"factor of a reshaped product": func(b *builder, x, y, large, small *node) [2]*node {
		pairs := b.Reshape(large, 250, 2, 4)
		half := b.Exp(b.SumTo(pairs, 250, 1, 4))
		return [2]*node{b.Mul(b.Reshape(b.Mul(pairs, half), 500, 4), b.Reshape(y, 1, 4)), b.Reshape(b.Mul(pairs, b.Mul(half, y)), 500, 4)}
	},
	"factor out of a sum": func(b *builder, x, y, large, small *node) [2]*node {
		return [2]*node{b.SumTo(b.Mul(b.Mul(large, small), large), 1, 4), b.Mul(b.SumTo(b.Mul(large, large), 1, 4), small)}
	},
	"diagonal of a diagonal matrix": func(b *builder, x, y, _, _ *node) [2]*node {
		return [2]*node{b.Exp(b.Diag(b.Diagonal(x))), b.Exp(x)}
	},
	"second factor out of a sum": func(b *builder, x, y, large, small *node) [2]*node {
		return [2]*node{b.SumTo(b.Mul(large, b.Mul(small, large)), 4), b.Mul(b.SumTo(b.Mul(large, large), 4), small)}
	},
}

// TestRewriting: a node that is reshaped, repeated, scaled or multiplied makes the same program
// as the nodes that this node was made of, while the nodes stay apart.
func TestRewriting(t *testing.T) {
	for name, make := range rewritings {
		t.Run(name, func(t *testing.T) {
			b := graph.NewBuilder(tensor.Float64)
			pair := make(b, b.Input("x", 3, 4), b.Input("y", 4), b.Input("large", 500, 4), b.Input("small", 4))
			noErr(t, b)
			if pair[0] == pair[1] {
				t.Error("the builder made one node of two formulas")
			}
			if got, want := graph.Listing(pair[0]), graph.Listing(pair[1]); !slices.Equal(got, want) {
				t.Errorf("program %q, want %q", got, want)
			}
		})
	}
}

// TestFactorStays: a factor stays inside a sum if the product is formed anyway, or if the
// factor changes along the sum.
func TestFactorStays(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	large, small, column := b.Input("large", 500, 4), b.Input("small", 4), b.Input("column", 500, 1)
	p, q := b.Mul(large, small), b.Mul(large, column)
	for name, out := range map[string][]*node{
		"formed":  {b.SumTo(b.Mul(p, large), 4), b.Exp(p)},
		"output":  {b.SumTo(b.Mul(p, large), 4), p},
		"changes": {b.SumTo(b.Mul(q, large), 4)},
	} {
		const want = "contract to (4)"
		if !slices.ContainsFunc(graph.Listing(out...), func(line string) bool {
			return len(line) > len(want) && line[:len(want)] == want
		}) {
			t.Fatalf("%s: no sum of products in %q", name, graph.Listing(out...))
		}
		products := 0
		for _, line := range graph.Listing(out...) {
			if len(line) > 4 && line[:4] == "mul " {
				products++
			}
		}
		if products != 1 {
			t.Errorf("%s: %d products, want the large one alone: %q", name, products, graph.Listing(out...))
		}
	}
	noErr(t, b)
}

// TestRandomRewriting: on random graphs with their gradients, a program computes what the
// nodes compute as they were written, in no more steps. Sums are added up in another
// order, and numbers multiply sums instead of what is summed.
func TestRandomRewriting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := graph.NewBuilder(tensor.Float64)
		e := drawExpression(t, b, rapid.IntRange(1, 10).Draw(t, "steps"))
		out := drawOutputs(t, b, e)
		in := e.values(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		got, want := evaluate(t, b, e.in, out, in), naiveRun(t, out, e.in, in)
		for i := range got {
			scale := 1.0
			for _, v := range want[i] {
				scale = max(scale, v, -v)
			}
			for j, v := range got[i] {
				if d := v - want[i][j]; !(max(d, -d) <= 1e-9*scale) {
					t.Fatalf("output %d, element %d is %.15g, want %.15g", i, j, v, want[i][j])
				}
			}
		}
		written := 0
		for _, n := range graph.Ancestors(out...) {
			if len(graph.Children(n)) > 0 {
				written++
			}
		}
		if once, each := graph.RewrittenSteps(out, nil); once+each > written+len(out) {
			t.Fatalf("%d steps for %d operations and %d outputs", once+each, written, len(out))
		}
	})
}

// TestRandomGradOfAnyNode: the gradient with respect to a node in the middle of a random
// graph, whatever it is, is the difference when its value is changed.
func TestRandomGradOfAnyNode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := graph.NewBuilder(tensor.Float64)
		e := drawExpression(t, b, rapid.IntRange(2, 8).Draw(t, "steps"))
		v := rapid.SampledFrom(e.pool[len(e.in):]).Draw(t, "with respect to")
		y := b.Sum(b.Square(e.pool[len(e.pool)-1]))
		out := append(graph.Grad(b, y, v), v)
		noErr(t, b)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		in := e.values(rng)
		got := evaluate(t, b, e.in, out, in)
		dir := normals(rng, []*node{v})
		given := append(slices.Clone(e.in), v)
		wantClose(t, fmt.Sprint("gradient with respect to ", v.Op()), inner(got[:1], dir), slope(func(h float64) float64 {
			return naiveRun(t, []*node{y}, given, append(slices.Clone(in), moved(got[1:], dir, h)...))[0][0]
		}), tolDiff)
	})
}

// TestGradOfWhatIsSeenThrough: the program takes, in place of these nodes, what they were
// made of; gradients with respect to them are right all the same, first and second ones.
func TestGradOfWhatIsSeenThrough(t *testing.T) {
	for name, make := range map[string]func(b *builder, x *node) *node{
		"reshape":             func(b *builder, x *node) *node { return b.Reshape(x, 4, 3) },
		"reshape to the same": func(b *builder, x *node) *node { return b.Reshape(x, 3, 4) },
		"broadcast":           func(b *builder, x *node) *node { return b.BroadcastTo(b.Reshape(x, 1, 12), 2, 12) },
		"product":             func(b *builder, x *node) *node { return b.Mul(x, x) },
		"scaled":              func(b *builder, x *node) *node { return b.Scale(x, 3) },
		"transposed":          func(b *builder, x *node) *node { return b.Transpose(x) },
		"sum of a product":    func(b *builder, x *node) *node { return b.SumTo(b.Mul(x, b.Exp(x)), 1, 4) },
		"scaled sum":          func(b *builder, x *node) *node { return b.SumTo(b.Scale(x, -2), 3, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			b := graph.NewBuilder(tensor.Float64)
			x := b.Input("x", 3, 4)
			v := make(b, x)
			n := v.Shape().TotalSize()
			// Σ v³ + v + x∘x, where one factor is a reshaped v and x is no part of v.
			cube := b.Mul(b.Reshape(v, n), b.Square(b.Reshape(b.Scale(v, 1), n)))
			y := b.Add(b.Add(b.Sum(cube), b.Sum(v)), b.Sum(b.Square(x)))
			first := graph.Grad(b, y, v)[0]
			second := graph.Grad(b, b.Sum(first), v)[0]
			noErr(t, b)
			got := evaluate(t, b, []*node{x}, []*node{v, first, second}, normals(rngFor(t), []*node{x}))
			for i, v := range got[0] {
				wantClose(t, "first derivative", got[1][i], 3*v*v+1, 1e-12)
				wantClose(t, "second derivative", got[2][i], 6*v, 1e-12)
			}
		})
	}
}

// TestScalarsOfABatch: products of scalars that depend on the examples are rewritten, too.
func TestScalarsOfABatch(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x, w := b.Input("x", 2, 1), b.Input("w", 3)
	sum, weight := b.Sum(x), b.Sum(b.Square(w))
	y := b.Mul(b.Mul(sum, weight), b.Mul(b.Exp(weight), b.Square(sum)))
	m := newMachine(t, b, []*node{x, w}, []*node{y}, graph.Options{Varying: []*node{x}})
	got := m.eval(t, [][]float64{{1, 2}, {0.5, 0, 0.25}})
	s, v := 3.0, 0.25+0.0625
	if want := s * v * math.Exp(v) * s * s; math.Abs(got[0][0]-want) > 1e-14*want {
		t.Errorf("%g, want %g", got[0][0], want)
	}
}
