package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/graph/graphtest"
	"gorgonia.org/tensor"
)

// outsideCases are operations that the examples define, with the interface that others use.
func outsideCases() []graphtest.Case {
	square := func(limit float64) graphtest.Case {
		return graphtest.Case{
			Name: fmt.Sprint("clipped square at ", limit), Shapes: [][]int{{3, 4}}, Shape: []int{3, 4}, NoONNX: true,
			Build: func(b *builder, in []*node) *node { return b.Apply(clippedSquare{limit}, in...) },
			Naive: func(in arrays) []float64 {
				out := make([]float64, len(in[0]))
				for i, v := range in[0] {
					out[i] = min(v*v, limit*limit)
				}
				return out
			},
		}
	}
	return []graphtest.Case{square(0.5), square(1)}
}

func TestOutsideOps(t *testing.T) { graphtest.Run(t, outsideCases()) }

// TestOpIdentity: a Go type and a key make an operation; the same on the same operands is
// one node, another key or another type of that key is not.
func TestOpIdentity(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x := b.Input("x", 2)
	one, two := b.Apply(clippedSquare{1}, x), b.Apply(clippedSquare{2}, x)
	impostor := b.Apply(graph.Pointwise{
		Name: clippedSquare{1}.Key(),
		F64:  func(dst, _ []float64) { clear(dst) },
		Grad: func(*builder, *node, *node, *node) *node { return nil },
	}.Op(), x)
	noErr(t, b)
	if one != b.Apply(clippedSquare{1}, x) {
		t.Error("one operation has two nodes")
	}
	got := evaluate(t, b, []*node{x}, []*node{one, two, impostor}, arrays{{3, 1.5}})
	wantSame(t, "values", got, arrays{{1, 1}, {4, 2.25}, {0, 0}}, 0)
	if op, ok := graph.OpOf(two); !ok || op != (clippedSquare{2}) {
		t.Errorf("operation %v, want the one that was applied", op)
	}
	if _, ok := graph.OpOf(x); ok {
		t.Error("a leaf has an operation")
	}
}

// TestApplyErrors: shapes, operands and missing loops are named.
func TestApplyErrors(t *testing.T) {
	wantFailure(t, "no operation", func(b *builder) *node { return b.Apply(nil, b.Input("x", 2)) }, "nil")
	wantFailure(t, "no operand", func(b *builder) *node { return b.Apply(clippedSquare{1}) }, "clipped square 1", "0 operands")
	wantFailure(t, "two operands", func(b *builder) *node {
		x := b.Input("x", 2)
		return b.Apply(graph.Pointwise{Name: "f"}.Op(), x, x)
	}, "graph: f", "2 operands")
	half := graph.Pointwise{Name: "for one type only", F64: func(dst, src []float64) { copy(dst, src) }}
	b := graph.NewBuilder(tensor.Float32)
	y := b.Apply(half.Op(), b.Input("x", 2))
	noErr(t, b)
	_, err := graph.Compile(b, []*node{y}, graph.Options{})
	if err == nil || !strings.Contains(err.Error(), "for one type only") || !strings.Contains(err.Error(), "float32") {
		t.Errorf("an operation without a loop for float32: error %v", err)
	}
	if _, err := y.Op().Do(newArray(tensor.Float32, tensor.Shape{2}, []float64{1, 2})); err == nil {
		t.Error("its Do ran")
	}
}

// embedded is a type that has its methods from a Pointwise without functions, except for
// the loops.
type embedded struct{ graph.Op }

func (embedded) Key() string { return "embedded" }

func (embedded) Forward([]tensor.Shape, tensor.Shape) graph.Loops {
	return graph.Loops{F64: func(y []float64, x [][]float64) error {
		for i, v := range x[0] {
			y[len(y)-1-i] = v // not element by element
		}
		return nil
	}}
}

// TestEmbedded: what overrides the loops of a Pointwise is not run element by element, in
// the place of its operand or in a chain.
func TestEmbedded(t *testing.T) {
	graph.SetFusing(t, 2, 2, 4)
	b := graph.NewBuilder(tensor.Float64)
	x, op := b.Input("x", 4), embedded{graph.Pointwise{Name: "without functions"}.Op()}
	y := b.Scale(b.Apply(op, b.Scale(x, 10)), 2)
	spread := b.Apply(op, b.BroadcastTo(b.Slice(x, 0, 0, 1), 2))
	noErr(t, b)
	got := evaluate(t, b, []*node{x}, []*node{y, spread}, arrays{{1, 2, 3, 4}})
	wantSame(t, "reversed", got, arrays{{80, 60, 40, 20}, {1, 1}}, 0)
}
