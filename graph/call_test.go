package graph_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// TestCall: a Go function sees copies of its operands in float64, whatever the graph
// holds. The function's results go on through the graph.
func TestCall(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		b := graph.NewBuilder(dt)
		x, s := b.Input("x", 2, 2), b.Input("s", 1)
		sorted := b.Call("sorted", []int{4}, func(in [][]float64) ([]float64, error) {
			slices.Sort(in[0])
			in[0][3] += in[1][0]
			return in[0], nil
		}, b.Scale(x, 2), s)
		out := []*node{b.Neg(sorted), b.Scale(x, 2)}
		noErr(t, b)
		m := newMachine(t, b, []*node{x, s}, out, graph.Options{})
		for range 2 {
			got := m.eval(t, arrays{{3, -1, 2, 0}, {0.5}})
			wantSame(t, "call", got, arrays{{2, 0, -4, -6.5}, {6, -2, 4, 0}}, 0)
		}
	}
}

// TestCallOnce: what depends on no varying leaf is called in the first run, until Refresh.
func TestCallOnce(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x, w := b.Input("x", 1), b.Input("w", 1)
	count := map[string]int{}
	counted := func(name string, of *node) *node {
		return b.Call("count", []int{1}, func(in [][]float64) ([]float64, error) { count[name]++; return in[0], nil }, of)
	}
	y := b.Add(counted("x", x), counted("w", w))
	twin := counted("twin of w", w) // of the same name and operand, but another function
	noErr(t, b)
	m := newMachine(t, b, []*node{x, w}, []*node{y, twin}, graph.Options{Varying: []*node{x}})
	for range 3 {
		m.eval(t, arrays{{1}, {2}})
	}
	m.p.Refresh()
	m.eval(t, arrays{{1}, {2}})
	if count["x"] != 4 || count["w"] != 2 || count["twin of w"] != 2 {
		t.Errorf("calls %v, want 4 of x and 2 of each of w", count)
	}
}

// TestCallErrors: errors of the function and wrong lengths end the run, a derivative is
// refused, and the function must be there.
func TestCallErrors(t *testing.T) {
	broken := errors.New("broken")
	b := graph.NewBuilder(tensor.Float64)
	x := b.Input("x", 2)
	fail := b.Call("failing", []int{2}, func([][]float64) ([]float64, error) { return nil, broken }, x)
	short := b.Call("short", []int{2, 1}, func([][]float64) ([]float64, error) { return []float64{1}, nil }, x)
	noErr(t, b)
	run := func(n *node) error {
		m := newMachine(t, b, []*node{x}, []*node{n}, graph.Options{})
		return m.p.Run()
	}
	if err := run(fail); !errors.Is(err, broken) || !strings.Contains(err.Error(), "failing") {
		t.Errorf("error %v, want the function's", err)
	}
	if err := run(short); err == nil || !strings.Contains(err.Error(), "1 elements, expected 2 for shape (2, 1)") {
		t.Errorf("a result that is too short: error %v", err)
	}
	graph.Grad(b, b.Sum(fail), x)
	if err := b.Err(); err == nil || !strings.Contains(err.Error(), "failing") || !strings.Contains(err.Error(), "no derivative") {
		t.Errorf("a derivative of a Go function: error %v", err)
	}
	wantFailure(t, "no function", func(b *builder) *node { return b.Call("f", []int{1}, nil, b.Input("x", 1)) }, `"f"`, "nil")
	wantFailure(t, "no shape", func(b *builder) *node {
		return b.Call("f", []int{0}, func(in [][]float64) ([]float64, error) { return nil, nil }, b.Input("x", 1))
	}, "empty")
}
