package layers

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"gorgonia.org/tensor"
)

// CNN describes a small convolutional network. Each entry of Filters is a convolution
// with that number of 3×3 filters and a bias, followed by the activation and a 2×2 max
// pool. Dense layers follow, with the activation between them. The layers are called
// conv1, conv2, … and dense1, dense2, ….
type CNN struct {
	Channels   int        `json:"channels"`   // of the images
	Height     int        `json:"height"`     // rows of the images
	Width      int        `json:"width"`      // columns of the images
	Filters    []int      `json:"filters"`    // number of filters of each convolution
	Hidden     []int      `json:"hidden"`     // widths of the hidden dense layers
	Outputs    int        `json:"outputs"`    // number of outputs
	Activation Activation `json:"activation"` // after each convolution and each hidden dense layer
}

// InputShape implements Form: [Channels, Height, Width].
func (c CNN) InputShape() []int { return []int{c.Channels, c.Height, c.Width} }

// String implements Form: "CNN 1×28×28, filters 16-32, dense 128-10 relu".
func (c CNN) String() string {
	filters := ""
	if len(c.Filters) > 0 {
		filters = ", filters " + joinInts(c.Filters, "-")
	}
	return fmt.Sprintf("CNN %s%s, dense %s %s", dims(c.InputShape()), filters, joinInts(append(slices.Clone(c.Hidden), c.Outputs), "-"), c.Activation)
}

// New returns a network of that form with random weights. Its inputs are images
// [B,Channels,Height,Width].
func (c CNN) New(dt tensor.Dtype, rng *rand.Rand) (Sequential, error) { return Build(c, dt, rng) }

// Structure implements Form.
func (c CNN) Structure() (Layers, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	var list Layers
	for _, out := range c.Filters {
		list = append(list, Conv2D{Filters: out, Kernel: 3, Padding: 1, Bias: true}, c.Activation, MaxPool{Size: 2, Stride: 2})
	}
	list = append(list, Flatten{})
	for _, out := range c.Hidden {
		list = append(list, DenseLayer{Outputs: out}, c.Activation)
	}
	return append(list, DenseLayer{Outputs: c.Outputs}), nil
}

func (c CNN) check() error {
	if shift := len(c.Filters); c.Height>>shift < 1 || c.Width>>shift < 1 || c.Channels < 1 {
		return fmt.Errorf("CNN with %d pools for images of %d×%d×%d: too small", len(c.Filters), c.Channels, c.Height, c.Width)
	}
	if len(c.Filters) > 0 && slices.Min(c.Filters) < 1 {
		return fmt.Errorf("CNN with filters %v: every number must be at least 1", c.Filters)
	}
	return c.Activation.check()
}
