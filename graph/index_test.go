package graph_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestIndex: the place of each new node is known to Gorgonia before it looks for the node, and leaves that
// were added without the Builder are found by their names.
func TestIndex(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x := b.Input("x", 2)
	y := b.Add(x, b.Fill(1, 2))
	for range 2 {
		b.Add(x, b.Fill(1, 2)) // known already: the places stay right
	}
	last := b.Exp(y)
	places := graph.Places(b)
	for i, n := range b.Graph().AllNodes() {
		if at, ok := places[n.ID()]; !ok || at != i {
			t.Errorf("node %d: place %d, known %t", i, at, ok)
		}
	}
	if got := graph.Children(last); !slices.Equal(got, []*graph.Node{y}) {
		t.Errorf("operands %v", got)
	}
	gorgonia.NewTensor(b.Graph(), tensor.Float64, 1, gorgonia.WithShape(3), gorgonia.WithName("theirs"))
	if b.Input("theirs", 4); b.Err() == nil {
		t.Error("two leaves of one name")
	}
}

// BenchmarkLongChain: a graph is written, differentiated and compiled in time that is linear in its nodes.
func BenchmarkLongChain(b *testing.B) {
	for _, n := range []int{5000, 20000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				g := graph.NewBuilder(tensor.Float64)
				x, w := g.Input("x", 1), g.Input("w", 1)
				y := x
				for range n {
					y = g.Add(y, w)
				}
				if _, err := graph.Compile(g, []*graph.Node{y, graph.Grad(g, y, w)[0]}, graph.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
