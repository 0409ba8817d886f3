package experiments

import (
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
}

// Networks returns the names of the forms of networks.
func Networks() []string { return slices.Sorted(maps.Keys(networks)) }

var dtypes = map[string]tensor.Dtype{"float32": tensor.Float32, "float64": tensor.Float64}
