package experiments

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/experiments/spec"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// networks are the forms of networks: each makes one for examples of a shape.
var networks = map[string]func(s spec.Network, input tensor.Shape, outputs int, dt tensor.Dtype, rng *rand.Rand) (layers.Network, error){
	"mlp": func(s spec.Network, input tensor.Shape, outputs int, dt tensor.Dtype, rng *rand.Rand) (layers.Network, error) {
		return layers.MLP{
			Inputs: input.TotalSize(), Hidden: s.Hidden, Outputs: outputs, Activation: layers.Activation(s.Activation),
		}.New(dt, rng)
	},
	"cnn": func(s spec.Network, input tensor.Shape, outputs int, dt tensor.Dtype, rng *rand.Rand) (layers.Network, error) {
		if len(input) != 3 {
			return nil, fmt.Errorf("a convolutional network takes images of channels, rows and columns, found examples of shape %v", input)
		}
		return layers.CNN{
			Channels: input[0], Height: input[1], Width: input[2], Filters: []int{16, 32}, Hidden: s.Hidden,
			Outputs: outputs, Activation: layers.Activation(s.Activation),
		}.New(dt, rng)
	},
	"resnet20": resNet(20), "resnet32": resNet(32), "resnet44": resNet(44), "resnet56": resNet(56),
}

// resNet is the residual network of so many layers.
func resNet(depth int) func(spec.Network, tensor.Shape, int, tensor.Dtype, *rand.Rand) (layers.Network, error) {
	return func(s spec.Network, input tensor.Shape, outputs int, dt tensor.Dtype, rng *rand.Rand) (layers.Network, error) {
		if len(input) != 3 {
			return nil, fmt.Errorf("a residual network takes images of channels, rows and columns, found examples of shape %v", input)
		}
		r, err := layers.NewResNet(depth, layers.Shortcut(cmp.Or(s.Shortcut, string(layers.Projection))), outputs)
		if err != nil {
			return nil, err
		}
		return r.New(dt, rng)
	}
}

// Networks returns the names of the forms of networks.
func Networks() []string { return slices.Sorted(maps.Keys(networks)) }

var dtypes = map[string]tensor.Dtype{"float32": tensor.Float32, "float64": tensor.Float64}
