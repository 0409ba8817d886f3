package layers_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
)

// ensembleOfTwo is an ensemble of two networks of different depth.
var ensembleOfTwo = layers.EnsembleLayer{Networks: []layers.Layers{
	{layers.DenseLayer{Outputs: 3}},
	{layers.DenseLayer{Outputs: 4}, layers.Activation("tanh"), layers.DenseLayer{Outputs: 3}},
}}

// naiveEnsemble computes ensembleOfTwo by plain loops.
func naiveEnsemble(net layers.Network, x []float64) []float64 {
	e := net.(layers.Ensemble)
	y := naiveDense(e[0][0], x)
	hidden := naiveDense(e[1][0], x)
	for i, v := range naiveDense(e[1][2], pointwise(math.Tanh)(nil, hidden)) {
		y[i] = (y[i] + v) / 2
	}
	return y
}

// TestMembers: the members of an ensemble have arrays with the names of single networks behind a prefix, and factors of
// the outputs are in the members.
func TestMembers(t *testing.T) {
	form := layers.SequentialForm{Input: []int{5}, Layers: layers.Layers{ensembleOfTwo}}
	net, err := layers.Build(form, tensor.Float64, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range net.Params() {
		names = append(names, p.Name)
	}
	if want := []string{"1/dense1.weight", "1/dense1.bias", "2/dense1.weight", "2/dense1.bias", "2/dense2.weight", "2/dense2.bias"}; !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
	if again, err := layers.Describe(net, 5); err != nil || again.String() != form.String() {
		t.Errorf("described as %v, error %v", again, err)
	}
	factors := []float64{2, -1, 10}
	scaled := layers.Rescaled(net, factors)
	if n := len(layers.Members(scaled)); n != 2 || layers.Members(layers.Members(net)[0]) != nil {
		t.Fatalf("%d members of two", n)
	}
	outputs := func(net layers.Network) []float64 {
		b := graph.NewBuilder(tensor.Float64)
		values, err := graph.Evaluate(b, net.Forward(b, b.Const("x", []float64{1, 2, -3, 4, 0.5}, 1, 5)))
		if err != nil {
			t.Fatal(err)
		}
		return values[0]
	}
	before, after := outputs(net), outputs(scaled)
	for i, f := range factors {
		if got, want := after[i], f*before[i]; math.Abs(got-want) > 1e-12 {
			t.Errorf("output %d is %g, want %g", i, got, want)
		}
	}
}

// TestEnsembleErrors: members without layers or with different outputs are refused in one line.
func TestEnsembleErrors(t *testing.T) {
	for want, l := range map[string]layers.EnsembleLayer{
		"layers: layer 1 (ensemble): no networks, expected one at least": {},
		"layers: layer 1 (ensemble): network 2: outputs of shape [2], expected [3] as those of network 1": {
			Networks: []layers.Layers{{layers.DenseLayer{Outputs: 3}}, {layers.DenseLayer{Outputs: 2}}}},
	} {
		if _, err := layers.OutputShape(layers.Layers{l}, 5); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
