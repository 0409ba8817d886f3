package layers

import (
	"fmt"
	"math/rand/v2"

	"gorgonia.org/tensor"
)

// MLP describes a multi-layer perceptron. Its dense layers are called dense1,
// dense2, … from the input to the output.
type MLP struct {
	Inputs     int        `json:"inputs"`
	Hidden     []int      `json:"hidden"` // widths of the hidden layers
	Outputs    int        `json:"outputs"`
	Activation Activation `json:"activation"` // after each hidden layer
}

// New returns a network of that form with random weights; see [NewDense].
func (m MLP) New(dt tensor.Dtype, rng *rand.Rand) (Sequential, error) {
	widths := append(append([]int{m.Inputs}, m.Hidden...), m.Outputs)
	for _, w := range widths {
		if w < 1 {
			return nil, fmt.Errorf("layers: MLP with widths %v: every width must be at least 1", widths)
		}
	}
	if len(m.Hidden) > 0 {
		if err := m.Activation.Check(); err != nil {
			return nil, err
		}
	}
	var net Sequential
	for i := range len(widths) - 1 {
		if i > 0 {
			net = append(net, m.Activation)
		}
		net = append(net, NewDense(fmt.Sprintf("dense%d", i+1), widths[i], widths[i+1], dt, rng))
	}
	return net, nil
}
