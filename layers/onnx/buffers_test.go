package onnx

import (
	"slices"
	"testing"

	"gorgonia.org/tensor"
)

// TestBuffers: statistics, and arrays that standardise the inputs, are no weights; they are listed. Differences,
// products and sums with weights behind a first layer are weights.
func TestBuffers(t *testing.T) {
	ones := func(name string) message { return initial(name, 1, floatData(1, 1), 2) }
	node := func(op, x, w, y string) message { return nodeProto(op, []string{x, w}, []string{y}) }
	for _, c := range []struct {
		what    string
		nodes   []message
		arrays  []string
		buffers []string
	}{
		{"standardised", []message{node("Sub", "x", "m", "a"), node("Div", "a", "s", "b"), node("Add", "b", "w", "y")}, []string{"m", "s", "w"}, []string{"m", "s"}},
		{"times the inverse", []message{node("Sub", "x", "m", "a"), nodeProto("Identity", []string{"a"}, []string{"b"}), node("Mul", "b", "s", "y")}, []string{"m", "s"}, []string{"m", "s"}},
		{"weights", []message{node("Mul", "x", "w", "a"), node("Sub", "a", "v", "b"), node("Div", "b", "u", "y")}, []string{"w", "v", "u"}, nil},
		{"names", []message{node("Mul", "x", "w", "a"), node("Add", "a", "net.1.running_mean", "y")}, []string{"w", "net.1.running_mean"}, []string{"net.1.running_mean"}},
	} {
		var initials []message
		for _, name := range c.arrays {
			initials = append(initials, ones(name))
		}
		f, err := decode(modelOf(graphOf(c.nodes, initials...)), "", Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		net, err := f.Network(tensor.Float64)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(f.Buffers, c.buffers) || len(net.Params()) != len(c.arrays)-len(c.buffers) {
			t.Errorf("%s: buffers %q, %d weights; want %q of %q", c.what, f.Buffers, len(net.Params()), c.buffers, c.arrays)
		}
	}
}
