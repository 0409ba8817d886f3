package layers_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// mixer is a network that may join rows.
type mixer func(b *graph.Builder, x *graph.Node) *graph.Node

func (m mixer) Forward(b *graph.Builder, x *graph.Node) *graph.Node { return m(b, x) }
func (mixer) Params() []*graph.Param                                { return nil }

// TestApart: what joins rows, moves them or tells them by their places is refused, whatever operations do it.
func TestApart(t *testing.T) {
	backwards := func(n int) (at []int) {
		for i := range n {
			at = append(at, n-1-i)
		}
		return at
	}
	x := tensor.New(tensor.WithShape(3, 2, 2), tensor.WithBacking(make([]float64, 12)))
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range x.Float64s() {
		x.Float64s()[i] = rng.NormFloat64()
	}
	for name, c := range map[string]struct {
		net   mixer
		apart bool
	}{
		"rows by themselves": {func(b *graph.Builder, x *graph.Node) *graph.Node { return b.Tanh(b.Reshape(x, x.Shape()[0], 4)) }, true},
		"a turned row":       {func(b *graph.Builder, x *graph.Node) *graph.Node { return b.Transpose(x, 0, 2, 1) }, true},
		"less the mean":      {func(b *graph.Builder, x *graph.Node) *graph.Node { return b.Sub(x, b.Scale(b.SumTo(x, 1, 2, 2), 0.5)) }, false},
		"less the first row": {func(b *graph.Builder, x *graph.Node) *graph.Node { return b.Sub(x, b.Slice(x, 0, 0, 1)) }, false},
		"other rows added": {func(b *graph.Builder, x *graph.Node) *graph.Node {
			return b.Add(x, b.Gather(x, 0, backwards(x.Shape()[0])...))
		}, false},
		"a view in place of a transpose": {func(b *graph.Builder, x *graph.Node) *graph.Node {
			n := x.Shape()[0]
			return b.Reshape(b.Transpose(b.Reshape(x, 2, n, 2), 1, 0, 2), n, 4)
		}, false},
	} {
		err := layers.Apart(c.net, x)
		if (err == nil) != c.apart || err != nil && !strings.Contains(err.Error(), "expected a network that treats each row by itself") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
