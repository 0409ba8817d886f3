package layers

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"gorgonia.org/tensor"
)

// ResNet describes a residual network for small images (He et al. 2016, "Deep residual
// learning for image recognition", section 4.2). A 3×3 convolution makes 16 channels.
// Stages of blocks follow, and each block has two 3×3 convolutions. The first stage has 16
// channels; every further stage doubles the channels and halves the resolution. The last
// layer is a dense one on the mean over all places.
//
// The arrays have the names of PyTorch's usual implementation: conv1.weight, bn1.weight,
// layer1.0.conv1.weight, layer2.0.downsample.0.weight, fc.weight.
type ResNet struct {
	Channels int      `json:"channels"` // of the images
	Blocks   []int    `json:"blocks"`   // number of blocks in each stage
	Shortcut Shortcut `json:"shortcut"` // of the blocks that change the shape
	Outputs  int      `json:"outputs"`
	Height   int      `json:"height,omitempty"` // of the images; 0: 32
	Width    int      `json:"width,omitempty"`  // of the images; 0: 32
}

// Shortcut is the kind of shortcut around a block that changes the shape.
type Shortcut string

const (
	Projection Shortcut = "projection" // 1×1 convolution and batch norm
	ZeroPad    Shortcut = "zero-pad"   // see ZeroPadShortcut
)

const resNetWidth = 16 // channels of the first stage

// NewResNet describes the ResNet for CIFAR with 6n+2 layers: 20, 32, 44, 56, …. It has
// three stages of n blocks and takes images of 3×32×32.
func NewResNet(layers int, shortcut Shortcut, outputs int) (ResNet, error) {
	if layers < 8 || (layers-2)%6 != 0 {
		return ResNet{}, fmt.Errorf("layers: ResNet of %d layers, expected 6n+2: 20, 32, 44, 56, …", layers)
	}
	n := (layers - 2) / 6
	return ResNet{Channels: 3, Blocks: []int{n, n, n}, Shortcut: shortcut, Outputs: outputs}, nil
}

// Kind implements Form.
func (r ResNet) Kind() string { return "resnet" }

// InputShape implements Form: [Channels, Height, Width].
func (r ResNet) InputShape() []int {
	return []int{r.Channels, cmp.Or(r.Height, 32), cmp.Or(r.Width, 32)}
}

// OutputSize implements Form.
func (r ResNet) OutputSize() int { return r.Outputs }

// String implements Form: "ResNet-20, projection shortcuts, 10 outputs".
func (r ResNet) String() string {
	layers, stages := 2, ""
	for _, n := range r.Blocks {
		layers += 2 * n
		if len(r.Blocks) != 3 || n != r.Blocks[0] {
			stages = " of blocks " + joinInts(r.Blocks, "-")
		}
	}
	return fmt.Sprintf("ResNet-%d%s, %s shortcuts, %d outputs", layers, stages, r.Shortcut, r.Outputs)
}

// New returns a network of that form with random weights; see [NewConv2D]. It takes
// images [B,Channels,H,W] of any size, also of another than Height and Width.
func (r ResNet) New(dt tensor.Dtype, rng *rand.Rand) (Sequential, error) { return Build(r, dt, rng) }

// Structure implements Form.
func (r ResNet) Structure() (Layers, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	list := Layers{
		Conv2DLayer{Name: "conv1", Filters: resNetWidth, Kernel: 3, Padding: 1},
		BatchNormLayer{Name: "bn1"}, Activation("relu"),
	}
	in := resNetWidth
	for s, blocks := range r.Blocks {
		for i := range blocks {
			out, stride := resNetWidth<<s, 1
			if i == 0 && s > 0 {
				stride = 2
			}
			list = append(list, r.block(fmt.Sprintf("layer%d.%d", s+1, i), in, out, stride), Activation("relu"))
			in = out
		}
	}
	return append(list, GlobalAveragePool{}, DenseLayer{Name: "fc", Outputs: r.Outputs}), nil
}

func (r ResNet) check() error {
	for _, n := range append([]int{r.Channels, r.Outputs, len(r.Blocks)}, r.Blocks...) {
		if n < 1 {
			return fmt.Errorf("ResNet with %d channels, blocks %v and %d outputs: each must be at least 1", r.Channels, r.Blocks, r.Outputs)
		}
	}
	if len(r.Blocks) > 10 {
		return fmt.Errorf("ResNet with %d stages, expected at most 10", len(r.Blocks))
	}
	for _, n := range r.Blocks {
		if n > 1000 {
			return fmt.Errorf("ResNet with %d blocks in a stage, expected at most 1000", n)
		}
	}
	if r.Shortcut != Projection && r.Shortcut != ZeroPad {
		return fmt.Errorf("unknown shortcut %q; known are %q and %q", r.Shortcut, Projection, ZeroPad)
	}
	return nil
}

// block is one residual block, without the activation after it.
func (r ResNet) block(name string, in, out, stride int) ResidualLayer {
	block := ResidualLayer{Inner: Layers{
		Conv2DLayer{Name: name + ".conv1", Filters: out, Kernel: 3, Stride: stride, Padding: 1},
		BatchNormLayer{Name: name + ".bn1"}, Activation("relu"),
		Conv2DLayer{Name: name + ".conv2", Filters: out, Kernel: 3, Padding: 1},
		BatchNormLayer{Name: name + ".bn2"},
	}}
	switch {
	case in == out && stride == 1:
	case r.Shortcut == ZeroPad:
		block.Shortcut = Layers{ZeroPadShortcut{Channels: out, Stride: stride}}
	default:
		block.Shortcut = Layers{
			Conv2DLayer{Name: name + ".downsample.0", Filters: out, Kernel: 1, Stride: stride},
			BatchNormLayer{Name: name + ".downsample.1"},
		}
	}
	return block
}
