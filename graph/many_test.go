package graph_test

import (
	"math"
	"testing"
	"time"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// manyNodes writes a network of dense layers with shortcuts and norms, and its derivatives, of at least n nodes.
func manyNodes(b *graph.Builder, n int) []*graph.Node {
	x := b.Input("x", 4, 8)
	w := graph.NewParam("w", make([]float64, 64), tensor.Float64, 8, 8)
	h := x
	for len(b.Graph().AllNodes()) < n/3 {
		y := b.Tanh(b.MatMul(h, b.Param(w), false, false))
		h = b.Add(b.Div(y, b.Sqrt(b.Affine(b.SumTo(b.Square(y), 4, 1), 1, 1))), h)
	}
	out := b.SumTo(h, 1, 1)
	return append(graph.VJP(b, []*graph.Node{out}, []*graph.Node{b.Fill(1, 1, 1)}, []*graph.Node{x, b.Param(w)}), out)
}

// TestManyNodes: the time of writing and compiling a graph grows little faster than the number of its nodes.
func TestManyNodes(t *testing.T) {
	var nodes, seconds []float64
	for _, n := range []int{5000, 40000} {
		start := time.Now()
		b := graph.NewBuilder(tensor.Float64)
		out := manyNodes(b, n)
		if b.Err() != nil {
			t.Fatal(b.Err())
		}
		if _, err := graph.Compile(b, out, graph.Options{}); err != nil {
			t.Fatal(err)
		}
		nodes, seconds = append(nodes, float64(len(b.Graph().AllNodes()))), append(seconds, time.Since(start).Seconds())
	}
	exponent := math.Log(seconds[1]/seconds[0]) / math.Log(nodes[1]/nodes[0])
	t.Logf("%g nodes in %.2g s, %g in %.2g s: exponent %.2f", nodes[0], seconds[0], nodes[1], seconds[1], exponent)
	if exponent > 1.7 { // other processes disturb a short measurement
		t.Errorf("the exponent is %.2f", exponent)
	}
}
