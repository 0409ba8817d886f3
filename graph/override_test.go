package graph_test

import (
	"math"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/graph/graphtest"
	"gorgonia.org/tensor"
)

// softPlusRule is the derivative of log(eˣ + eʸ), by the value itself.
func softPlusRule(b *builder, wrt []*node, value, ct *node) []*node {
	cts := make([]*node, len(wrt))
	for i, x := range wrt {
		cts[i] = b.Mul(ct, b.Exp(b.Sub(x, value)))
	}
	return cts
}

func softPlus(b *builder, x, y *node) *node { return b.Log(b.Add(b.Exp(x), b.Exp(y))) }

func overrideCases() []graphtest.Case {
	return []graphtest.Case{{
		Name: "with pullback", Shapes: [][]int{{3, 4}, {3, 4}}, Shape: []int{3, 4},
		Build: func(b *builder, in []*node) *node {
			x, y := b.Scale(in[0], 2), in[1]
			return b.WithPullback("softplus", softPlus(b, x, y), softPlusRule, x, y)
		},
		Naive: func(in arrays) []float64 {
			out := make([]float64, len(in[0]))
			for i, x := range in[0] {
				out[i] = math.Log(math.Exp(2*x) + math.Exp(in[1][i]))
			}
			return out
		},
	}}
}

// TestWithPullbackRule: the derivative is the rule's, whatever the value's derivative is. The
// derivative by nodes that the rule does not name is zero.
func TestWithPullbackRule(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x, y := b.Input("x", 2), b.Input("y", 2)
	rule := func(b *builder, wrt []*node, _, ct *node) []*node { return []*node{b.Scale(b.Mul(ct, wrt[0]), 5)} }
	z := b.WithPullback("five x", b.Mul(b.Tanh(x), y), rule, x)
	grads := graph.Grad(b, b.Sum(b.Mul(z, y)), x, y)
	second := graph.Grad(b, b.Sum(grads[0]), x, y)
	noErr(t, b)
	got := evaluate(t, b, []*node{x, y}, append(grads, second...), arrays{{0.5, -1}, {2, 3}})
	wantSame(t, "derivatives", got, arrays{{5, -15}, {2 * math.Tanh(0.5), 3 * math.Tanh(-1)}, {10, 15}, {2.5, -5}}, 1e-15)
}

// TestWithPullbackIsFree: a program computes the value, and nothing for the rule.
func TestWithPullbackIsFree(t *testing.T) {
	plain := func(b *builder, x, y *node) *node { return b.Exp(softPlus(b, x, y)) }
	ruled := func(b *builder, x, y *node) *node {
		return b.Exp(b.WithPullback("softplus", softPlus(b, x, y), softPlusRule, x, y))
	}
	var steps [2]int
	for i, build := range []func(b *builder, x, y *node) *node{plain, ruled} {
		b := graph.NewBuilder(tensor.Float64)
		p, err := graph.Compile(b, []*node{build(b, b.Input("x", 3), b.Input("y", 3))}, graph.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, steps[i] = p.Steps()
	}
	if steps[0] != steps[1] {
		t.Errorf("%d steps without a rule, %d with it", steps[0], steps[1])
	}
}

func TestWithPullbackErrors(t *testing.T) {
	with := func(rule graph.Rule) func(b *builder) *node {
		return func(b *builder) *node {
			x := b.Input("x", 2)
			return graph.Grad(b, b.Sum(b.WithPullback("odd", b.Exp(x), rule, x)), x)[0]
		}
	}
	for name, c := range map[string]struct {
		build func(b *builder) *node
		parts []string
	}{
		"no rule":        {with(nil), []string{"odd", "a rule is needed"}},
		"nothing":        {func(b *builder) *node { return b.WithPullback("odd", b.Input("x", 2), softPlusRule) }, []string{"odd", "differentiate by"}},
		"no value":       {func(b *builder) *node { return b.WithPullback("odd", nil, softPlusRule, b.Input("x", 2)) }, []string{"with pullback", "input 0 is nil"}},
		"too few":        {with(func(*builder, []*node, *node, *node) []*node { return nil }), []string{"odd", "0 cotangents, expected 1"}},
		"another shape":  {with(func(b *builder, _ []*node, _, _ *node) []*node { return []*node{b.Fill(1, 3)} }), []string{"odd", "shape (3)", "expected (2)"}},
		"a failing rule": {with(func(b *builder, _ []*node, _, ct *node) []*node { return []*node{b.Reshape(ct, 5)} }), []string{"reshape"}},
	} {
		wantFailure(t, name, c.build, c.parts...)
	}
}
