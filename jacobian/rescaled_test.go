package jacobian_test

import (
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// TestRescaledStaysStructured: a network whose outputs have scales of their own keeps its structure, also where it does
// not end in a dense layer.
func TestRescaledStaysStructured(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	net := layers.Rescaled(layers.Sequential{layers.NewDense("a", 3, 4, tensor.Float64, rng), layers.Activation("tanh")}, []float64{1, 2, 3, 4})
	b := graph.NewBuilder(tensor.Float64)
	for _, p := range (jacobian.NTK{Net: net}).FormedDensely(b, b.Input("x", 2, 3)) {
		t.Errorf("%s has dense rows", p.Name)
	}
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
}
