package graph_test

import (
	"testing"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// TestPlaceOutside: a place that a table does not have is named without the names of operations, by rows of a table and by
// their transpose.
func TestPlaceOutside(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	table, x := b.Input("table", 20, 3), b.Input("x", 4, 1)
	y := b.Embed(table, x)
	noErr(t, b)
	for name, out := range map[string]*node{"rows": y, "transpose": graph.Grad(b, b.Sum(b.Square(y)), table)[0]} {
		m := newMachine(t, b, []*node{table, x}, []*node{out}, graph.Options{})
		copy(m.args[1].Float64s(), []float64{3, 19, 55, 0})
		const want = "embedding: place 55, expected a whole number from 0 to 19"
		if err := m.p.Run(); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", name, err, want)
		}
	}
}
