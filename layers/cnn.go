package layers

import (
	"fmt"
	"math/rand/v2"

	"gorgonia.org/tensor"
)

// CNN describes a small convolutional network: for each entry of Filters a convolution
// of so many 3×3 filters with bias, an activation and a 2×2 max pool; then dense layers.
// Its layers are called conv1, conv2, … and dense1, dense2, ….
type CNN struct {
	Channels   int        `json:"channels"` // of the images
	Height     int        `json:"height"`
	Width      int        `json:"width"`
	Filters    []int      `json:"filters"`
	Hidden     []int      `json:"hidden"` // widths of the hidden dense layers
	Outputs    int        `json:"outputs"`
	Activation Activation `json:"activation"`
}

// New returns a network of that form with random weights. Its inputs are images
// [B,Channels,Height,Width].
func (c CNN) New(dt tensor.Dtype, rng *rand.Rand) (Sequential, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	var net Sequential
	in, h, w := c.Channels, c.Height, c.Width
	for i, out := range c.Filters {
		name := fmt.Sprintf("conv%d", i+1)
		net = append(net, NewConv2D(name, in, out, 3, 1, 1, dt, rng).WithBias(name), c.Activation, MaxPool{Size: 2, Stride: 2})
		in, h, w = out, h/2, w/2
	}
	dense, err := MLP{Inputs: in * h * w, Hidden: c.Hidden, Outputs: c.Outputs, Activation: c.Activation}.New(dt, rng)
	if err != nil {
		return nil, err
	}
	return append(append(net, Flatten{}), dense...), nil
}

func (c CNN) check() error {
	if shift := len(c.Filters); c.Height>>shift < 1 || c.Width>>shift < 1 || c.Channels < 1 {
		return fmt.Errorf("layers: CNN with %d pools for images of %d×%d×%d: too small", len(c.Filters), c.Channels, c.Height, c.Width)
	}
	for _, n := range c.Filters {
		if n < 1 {
			return fmt.Errorf("layers: CNN with filters %v: every number must be at least 1", c.Filters)
		}
	}
	return c.Activation.Check()
}
