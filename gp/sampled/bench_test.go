package sampled

import (
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/data/idx"
	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// mnist is the paper's network for handwritten digits with all training images.
func mnist(t testing.TB) (gp.Problem, *image.Splits) {
	t.Helper()
	s, err := idx.MNIST(fixture.Shared(t, "data", "mnist"))
	if err != nil {
		t.Fatal(err)
	}
	net, err := layers.MLP{Inputs: 784, Hidden: []int{200, 200}, Outputs: 10, Activation: "tanh"}.New(tensor.Float32, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if err := layers.Load(fixture.Shared(t, "weights", "ludvins_mlp_mnist.npz"), net, layers.LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	return gp.Problem{Net: net, Likelihood: likelihood.Softmax{}, Train: gp.Examples{
		X: idx.Dense[float32](&s.Train.Images), Y: image.OneHot[float32](s.Train),
	}}, s
}
