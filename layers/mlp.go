package layers

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"gorgonia.org/tensor"
)

// MLP describes a multi-layer perceptron: dense layers with an activation between them.
// The layers are called dense1, dense2, … from the input to the output.
type MLP struct {
	Inputs     int        `json:"inputs"`     // number of inputs, D
	Hidden     []int      `json:"hidden"`     // widths of the hidden layers
	Outputs    int        `json:"outputs"`    // number of outputs, C
	Activation Activation `json:"activation"` // after each hidden layer
}

// InputShape implements Form.
func (m MLP) InputShape() []int { return []int{m.Inputs} }

// String implements Form: "1-50-50-1 tanh".
func (m MLP) String() string {
	text := joinInts(m.widths(), "-")
	if len(m.Hidden) > 0 {
		text += " " + string(m.Activation)
	}
	return text
}

// New returns a network of that form with random weights; see [NewDense].
func (m MLP) New(dt tensor.Dtype, rng *rand.Rand) (Sequential, error) { return Build(m, dt, rng) }

func (m MLP) widths() []int { return append(append([]int{m.Inputs}, m.Hidden...), m.Outputs) }

// Structure implements Form.
func (m MLP) Structure() (Layers, error) {
	widths := m.widths()
	if slices.Min(widths) < 1 {
		return nil, fmt.Errorf("MLP with widths %v: every width must be at least 1", widths)
	}
	var list Layers
	for i, out := range widths[1:] {
		if i > 0 {
			list = append(list, m.Activation)
		}
		list = append(list, DenseLayer{Outputs: out})
	}
	return list, nil
}
