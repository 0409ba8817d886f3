package layers

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
)

// TestWidened: a widened network has the outputs of its two parts, one after the other, whatever its form.
func TestWidened(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	for _, f := range []Form{
		MLP{Inputs: 3, Hidden: []int{4}, Outputs: 2, Activation: "tanh"},
		CNN{Channels: 1, Height: 6, Width: 6, Filters: []int{2}, Outputs: 2, Activation: "relu"},
		ResNet{Channels: 1, Height: 8, Width: 8, Blocks: []int{1}, Shortcut: Projection, Outputs: 2},
	} {
		form, err := Widened(f, 4)
		if err != nil {
			t.Fatal(err)
		}
		wide, err := Build(form, tensor.Float64, r)
		if err != nil {
			t.Fatal(err)
		}
		in := append([]int{3}, f.InputShape()...)
		x := make([]float64, tensor.Shape(in).TotalSize())
		for i := range x {
			x[i] = r.NormFloat64()
		}
		values := func(net Sequential) []float64 {
			b := graph.NewBuilder(tensor.Float64)
			out, err := graph.Evaluate(b, net.Forward(b, b.Const("x", x, in...)))
			if err != nil {
				t.Fatal(err)
			}
			return out[0]
		}
		all := values(wide)
		for first := 0; first < 4; first += 2 {
			net, err := Narrowed(wide, f, first)
			if err != nil {
				t.Fatal(err)
			}
			var want []float64
			for row := range slices.Chunk(all, 4) {
				want = append(want, row[first:first+2]...)
			}
			if got := values(net); !slices.EqualFunc(got, want, func(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 }) {
				t.Errorf("%v: outputs %v from number %d on, want %v", f, got, first, want)
			}
		}
	}
	for want, f := range map[string]Form{
		"ends in tanh, expected a dense layer": SequentialForm{Input: []int{2}, Layers: Layers{DenseLayer{Outputs: 1}, Activation("tanh")}},
		"a network without layers":             SequentialForm{Input: []int{2}},
		"every width must be at least 1":       MLP{},
	} {
		if _, err := Widened(f, 2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
