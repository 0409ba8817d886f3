package layers

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"gorgonia.org/tensor"
)

// ResNet describes a residual network for small images (He et al. 2016, "Deep residual
// learning for image recognition", section 4.2). A 3×3 convolution makes 16 channels.
// Stages of blocks follow, and each block has two 3×3 convolutions. The first stage has 16
// channels; every further stage doubles the channels and halves the resolution. The last
// layer is a dense one on the mean over all places.
//
// With Large it is the network for large images of the same paper (table 1), as torchvision has
// it: a 7×7 convolution makes 64 channels at half the resolution, a max pool halves it again,
// and the first stage has 64 channels. With Bottleneck each block has convolutions of 1×1, 3×3 and 1×1,
// of which the last one makes four times as many channels; the second one halves the resolution.
//
// The arrays have the names of PyTorch's usual implementation: conv1.weight, bn1.weight,
// layer1.0.conv1.weight, layer2.0.downsample.0.weight, fc.weight.
type ResNet struct {
	Channels int      `json:"channels"`         // of the images
	Blocks   []int    `json:"blocks"`           // number of blocks in each stage
	Shortcut Shortcut `json:"shortcut"`         // of the blocks that change the shape
	Outputs  int      `json:"outputs"`          // number of outputs
	Height   int      `json:"height,omitempty"` // of the images; 0: 32, or 224 with Large
	Width    int      `json:"width,omitempty"`  // of the images; 0: 32, or 224 with Large

	Large      bool `json:"large,omitempty"`      // the network for large images
	Bottleneck bool `json:"bottleneck,omitempty"` // blocks of three convolutions
}

// Shortcut is the kind of shortcut around a block that changes the shape.
type Shortcut string

const (
	Projection Shortcut = "projection" // 1×1 convolution and batch norm
	ZeroPad    Shortcut = "zero-pad"   // see ZeroPadShortcut
)

// width is the number of channels of the first convolution.
func (r ResNet) width() int {
	if r.Large {
		return 64
	}
	return 16
}

// expansion is how many times as many channels a block makes as it computes with.
func (r ResNet) expansion() int {
	if r.Bottleneck {
		return 4
	}
	return 1
}

// NewResNet describes the ResNet for CIFAR with 6n+2 layers: 20, 32, 44, 56, …. It has
// three stages of n blocks and takes images of 3×32×32.
func NewResNet(layers int, shortcut Shortcut, outputs int) (ResNet, error) {
	if layers < 8 || (layers-2)%6 != 0 {
		return ResNet{}, fmt.Errorf("layers: ResNet of %d layers, expected 6n+2: 20, 32, 44, 56, …", layers)
	}
	n := (layers - 2) / 6
	return ResNet{Channels: 3, Blocks: []int{n, n, n}, Shortcut: shortcut, Outputs: outputs}, nil
}

// largeBlocks are the blocks of ResNets for large images by their layers. From 50 layers on the
// blocks are bottlenecks.
var largeBlocks = map[int][]int{18: {2, 2, 2, 2}, 34: {3, 4, 6, 3}, 50: {3, 4, 6, 3}, 101: {3, 4, 23, 3}, 152: {3, 8, 36, 3}}

// NewLargeResNet describes the ResNet for images of 3×224×224 with 18, 34, 50, 101 or 152 layers,
// whose arrays have the names and shapes of torchvision's.
func NewLargeResNet(layers, outputs int) (ResNet, error) {
	blocks := largeBlocks[layers]
	if blocks == nil {
		return ResNet{}, fmt.Errorf("layers: ResNet of %d layers for large images, expected 18, 34, 50, 101 or 152", layers)
	}
	return ResNet{Channels: 3, Blocks: slices.Clone(blocks), Shortcut: Projection, Outputs: outputs, Large: true, Bottleneck: layers >= 50}, nil
}

// InputShape implements Form: [Channels, Height, Width].
func (r ResNet) InputShape() []int {
	size := 32
	if r.Large {
		size = 224
	}
	return []int{r.Channels, cmp.Or(r.Height, size), cmp.Or(r.Width, size)}
}

// String implements Form: "ResNet-20, projection shortcuts, 10 outputs".
func (r ResNet) String() string {
	layers, each, stages := 2, 2, ""
	if r.Bottleneck {
		each = 3
	}
	for _, n := range r.Blocks {
		layers += each * n
		if len(r.Blocks) != 3 || n != r.Blocks[0] {
			stages = " of blocks " + joinInts(r.Blocks, "-")
		}
	}
	if r.Large && slices.Equal(r.Blocks, largeBlocks[layers]) {
		stages = " for large images"
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
	in := r.width()
	list := Layers{Conv2D{Name: "conv1", Filters: in, Kernel: 3, Padding: 1}, BatchNorm{Name: "bn1"}, Activation("relu")}
	if r.Large {
		list[0] = Conv2D{Name: "conv1", Filters: in, Kernel: 7, Stride: 2, Padding: 3}
		list = append(list, MaxPool{Size: 3, Stride: 2, Padding: 1})
	}
	for s, blocks := range r.Blocks {
		for i := range blocks {
			width, stride := r.width()<<s, 1
			if i == 0 && s > 0 {
				stride = 2
			}
			list = append(list, r.block(fmt.Sprintf("layer%d.%d", s+1, i), in, width, stride), Activation("relu"))
			in = width * r.expansion()
		}
	}
	return append(list, GlobalAveragePool{}, DenseLayer{Name: "fc", Outputs: r.Outputs}), nil
}

func (r ResNet) check() error {
	if slices.Min(append([]int{r.Channels, r.Outputs, len(r.Blocks)}, r.Blocks...)) < 1 {
		return fmt.Errorf("ResNet with %d channels, blocks %v and %d outputs: each must be at least 1", r.Channels, r.Blocks, r.Outputs)
	}
	if len(r.Blocks) > 10 {
		return fmt.Errorf("ResNet with %d stages, expected at most 10", len(r.Blocks))
	}
	if most := slices.Max(r.Blocks); most > 1000 {
		return fmt.Errorf("ResNet with %d blocks in a stage, expected at most 1000", most)
	}
	if r.Shortcut != Projection && r.Shortcut != ZeroPad {
		return fmt.Errorf("unknown shortcut %q; known are %q and %q", r.Shortcut, Projection, ZeroPad)
	}
	return nil
}

// block is one residual block, without the activation after it.
func (r ResNet) block(name string, in, width, stride int) ResidualLayer {
	out := width * r.expansion()
	block := ResidualLayer{Inner: r.inner(name, width, stride)}
	switch {
	case in == out && stride == 1:
	case r.Shortcut == ZeroPad:
		block.Shortcut = Layers{ZeroPadShortcut{Channels: out, Stride: stride}}
	default:
		block.Shortcut = Layers{
			Conv2D{Name: name + ".downsample.0", Filters: out, Kernel: 1, Stride: stride},
			BatchNorm{Name: name + ".downsample.1"},
		}
	}
	return block
}

// inner lists the layers that the shortcut goes around.
func (r ResNet) inner(name string, width, stride int) Layers {
	kernels, strides := []int{3, 3}, []int{stride, 1}
	if r.Bottleneck {
		kernels, strides = []int{1, 3, 1}, []int{1, stride, 1}
	}
	var list Layers
	for i, k := range kernels {
		filters := width
		if i == len(kernels)-1 {
			filters *= r.expansion()
		}
		if i > 0 {
			list = append(list, Activation("relu"))
		}
		list = append(list,
			Conv2D{Name: fmt.Sprintf("%s.conv%d", name, i+1), Filters: filters, Kernel: k, Stride: strides[i], Padding: k / 2},
			BatchNorm{Name: fmt.Sprintf("%s.bn%d", name, i+1)})
	}
	return list
}
