package layers

import (
	"fmt"
	"math/rand/v2"

	"gorgonia.org/tensor"
)

// ResNet describes a residual network for small images (He et al. 2016, "Deep residual
// learning for image recognition", section 4.2): a 3×3 convolution to 16 channels, then
// stages of 16, 32 and 64 channels, each of so many blocks of two 3×3 convolutions, the
// later stages at half the resolution, and a dense layer on the mean over all places.
//
// Arrays have the names of PyTorch's usual implementation: conv1.weight, bn1.weight,
// layer1.0.conv1.weight, layer2.0.downsample.0.weight, fc.weight.
type ResNet struct {
	Channels int      `json:"channels"` // of the images
	Blocks   []int    `json:"blocks"`   // of each stage
	Shortcut Shortcut `json:"shortcut"` // where a block changes the shape
	Outputs  int      `json:"outputs"`
}

// Shortcut is the way around a block that changes the shape.
type Shortcut string

const (
	Projection Shortcut = "projection" // 1×1 convolution and batch norm
	ZeroPad    Shortcut = "zero-pad"   // see ZeroPadShortcut
)

const resNetWidth = 16 // channels of the first stage

// NewResNet describes the CIFAR ResNet of 6n+2 layers: 20, 32, 44, 56, ….
func NewResNet(layers int, shortcut Shortcut, outputs int) (ResNet, error) {
	if layers < 8 || (layers-2)%6 != 0 {
		return ResNet{}, fmt.Errorf("layers: ResNet of %d layers, expected 6n+2: 20, 32, 44, 56, …", layers)
	}
	n := (layers - 2) / 6
	return ResNet{Channels: 3, Blocks: []int{n, n, n}, Shortcut: shortcut, Outputs: outputs}, nil
}

// New returns a network of that form with random weights; see [NewConv2D].
func (r ResNet) New(dt tensor.Dtype, rng *rand.Rand) (Sequential, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	net := Sequential{
		NewConv2D("conv1", r.Channels, resNetWidth, 3, 1, 1, dt, rng),
		NewBatchNorm("bn1", resNetWidth, dt), Activation("relu"),
	}
	in := resNetWidth
	for s, blocks := range r.Blocks {
		for i := range blocks {
			out, stride := resNetWidth<<s, 1
			if i == 0 && s > 0 {
				stride = 2
			}
			net = append(net, r.block(fmt.Sprintf("layer%d.%d", s+1, i), in, out, stride, dt, rng), Activation("relu"))
			in = out
		}
	}
	return append(net, GlobalAveragePool{}, NewDense("fc", in, r.Outputs, dt, rng)), nil
}

func (r ResNet) check() error {
	for _, n := range append([]int{r.Channels, r.Outputs, len(r.Blocks)}, r.Blocks...) {
		if n < 1 {
			return fmt.Errorf("layers: ResNet with %d channels, blocks %v and %d outputs: each must be at least 1", r.Channels, r.Blocks, r.Outputs)
		}
	}
	if len(r.Blocks) > 10 {
		return fmt.Errorf("layers: ResNet with %d stages, expected at most 10", len(r.Blocks))
	}
	if r.Shortcut != Projection && r.Shortcut != ZeroPad {
		return fmt.Errorf("layers: unknown shortcut %q; known are %q and %q", r.Shortcut, Projection, ZeroPad)
	}
	return nil
}

// block is one residual block, without the activation after it.
func (r ResNet) block(name string, in, out, stride int, dt tensor.Dtype, rng *rand.Rand) Residual {
	block := Residual{Inner: Sequential{
		NewConv2D(name+".conv1", in, out, 3, stride, 1, dt, rng), NewBatchNorm(name+".bn1", out, dt), Activation("relu"),
		NewConv2D(name+".conv2", out, out, 3, 1, 1, dt, rng), NewBatchNorm(name+".bn2", out, dt),
	}}
	switch {
	case in == out && stride == 1:
	case r.Shortcut == ZeroPad:
		block.Shortcut = ZeroPadShortcut{Channels: out, Stride: stride}
	default:
		block.Shortcut = Sequential{
			NewConv2D(name+".downsample.0", in, out, 1, stride, 0, dt, rng), NewBatchNorm(name+".downsample.1", out, dt),
		}
	}
	return block
}
