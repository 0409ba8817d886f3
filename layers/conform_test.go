package layers_test

import (
	"math"
	"slices"
	"testing"

	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/layertest"
)

// layerCases has a row for every layer, or several for its settings.
var layerCases = []layertest.Case{
	{Name: "dense", Layer: layers.DenseLayer{Outputs: 3}, Input: []int{5}, Naive: naiveDense},
	{Name: "dense to one", Layer: layers.DenseLayer{Name: "head", Outputs: 1}, Input: []int{1}, Naive: naiveDense},
	{Name: "convolution", Layer: layers.Conv2D{Filters: 3, Kernel: 3, Padding: 1}, Input: []int{2, 4, 5}, Naive: naiveConv(4, 5, 1, 1)},
	{Name: "convolution with bias", Layer: layers.Conv2D{Name: "c", Filters: 2, Kernel: 2, Bias: true}, Input: []int{3, 4, 4}, Naive: naiveConv(4, 4, 1, 0)},
	{Name: "strided convolution", Layer: layers.Conv2D{Filters: 2, Kernel: 3, Stride: 2, Padding: 2}, Input: []int{1, 6, 5}, Naive: naiveConv(6, 5, 2, 2)},
	{Name: "1×1 convolution", Layer: layers.Conv2D{Filters: 4, Kernel: 1, Stride: 2, Bias: true}, Input: []int{2, 3, 3}, Naive: naiveConv(3, 3, 2, 0)},
	{Name: "batch norm", Layer: layers.BatchNorm{}, Input: []int{3, 4, 2}, Naive: naiveBatchNorm(1e-5)},
	{Name: "batch norm with settings", Layer: layers.BatchNorm{Name: "bn", Eps: 0.1, Momentum: 0.5}, Input: []int{2, 1, 3}, Naive: naiveBatchNorm(0.1)},
	{Name: "tanh", Layer: layers.Activation("tanh"), Input: []int{5}, Naive: pointwise(math.Tanh)},
	{Name: "relu", Layer: layers.Activation("relu"), Input: []int{2, 3, 4}, Naive: pointwise(func(x float64) float64 { return max(x, 0) })},
	{Name: "erf", Layer: layers.Activation("erf"), Input: []int{5}, Naive: pointwise(math.Erf)},
	{Name: "softplus", Layer: layers.Activation("softplus"), Input: []int{5}, Naive: pointwise(func(x float64) float64 { return math.Log1p(math.Exp(x)) })},
	{Name: "sigmoid", Layer: layers.Activation("sigmoid"), Input: []int{5}, Naive: pointwise(func(x float64) float64 { return 1 / (1 + math.Exp(-x)) })},
	{Name: "sin", Layer: layers.Activation("sin"), Input: []int{5}, Naive: pointwise(math.Sin)},
	{Name: "gelu", Layer: layers.Activation("gelu"), Input: []int{5}, Naive: pointwise(func(x float64) float64 { return x * (1 + math.Erf(x/math.Sqrt2)) / 2 })},
	{Name: "silu", Layer: layers.Activation("silu"), Input: []int{5}, Naive: pointwise(func(x float64) float64 { return x / (1 + math.Exp(-x)) })},
	{Name: "mish", Layer: layers.Activation("mish"), Input: []int{5}, Naive: pointwise(func(x float64) float64 { return x * math.Tanh(math.Log1p(math.Exp(x))) })},
	{Name: "elu", Layer: layers.Activation("elu"), Input: []int{5}, Naive: pointwise(func(x float64) float64 { return max(x, 0) + min(0, math.Expm1(x)) })},
	{Name: "selu", Layer: layers.Activation("selu"), Input: []int{5}, Naive: pointwise(func(x float64) float64 {
		return 1.0507009873554805 * (max(x, 0) + 1.6732632423543772*min(0, math.Expm1(x)))
	})},
	{Name: "leaky relu", Layer: layers.Activation("leaky-relu"), Input: []int{5}, Naive: pointwise(func(x float64) float64 { return max(x, 0.01*x) })},
	{Name: "hard swish", Layer: layers.Activation("hard-swish"), Input: []int{5}, Naive: pointwise(func(x float64) float64 { return x * min(max(x/6+0.5, 0), 1) })},
	{Name: "layer norm", Layer: layers.LayerNorm{}, Input: []int{5}, Naive: naiveGroups(5, 1, 1e-5)},
	{Name: "layer norm of images", Layer: layers.LayerNorm{Name: "ln", Eps: 0.1}, Input: []int{2, 2, 3}, Naive: naiveGroups(3, 1, 0.1)},
	{Name: "group norm", Layer: layers.GroupNorm{Groups: 2}, Input: []int{4, 1, 2}, Naive: naiveGroups(4, 2, 1e-5)},
	{Name: "instance norm", Layer: layers.GroupNorm{Groups: 3}, Input: []int{3, 2, 2}, Naive: naiveGroups(4, 4, 1e-5)},
	{Name: "RMS norm", Layer: layers.RMSNorm{Eps: 0.1}, Input: []int{2, 3}, Naive: naiveRMS(0.1)},
	{Name: "RMS norm of vectors", Layer: layers.RMSNorm{Name: "rms"}, Input: []int{4}, Naive: naiveRMS(0x1p-23)},
	{Name: "batch norm of vectors", Layer: layers.BatchNorm{}, Input: []int{4}, Naive: naiveBatchNorm(1e-5)},
	{Name: "batch norm of sequences", Layer: layers.BatchNorm{}, Input: []int{2, 3}, Naive: naiveBatchNorm(1e-5)},
	{Name: "dense of each step", Layer: layers.DenseLayer{Outputs: 2}, Input: []int{3, 4}, Naive: naiveSteps(4, naiveDense)},
	{Name: "embedding", Layer: layers.Embedding{Rows: 7, Width: 3}, Input: []int{4}, Naive: naiveEmbedding},
	{Name: "mean of steps", Layer: layers.PoolSteps{Take: "mean"}, Input: []int{2, 3}, Naive: naivePoolSteps(.5, .5)},
	{Name: "first step", Layer: layers.PoolSteps{Take: "first"}, Input: []int{2, 3}, Naive: naivePoolSteps(1, 0)},
	{Name: "last step", Layer: layers.PoolSteps{Take: "last"}, Input: []int{2, 3}, Naive: naivePoolSteps(0, 1)},
	{Name: "LSTM", Layer: layers.Recurrent{Cell: "lstm", Units: 2}, Input: []int{3, 2}, Naive: naiveRecurrent(3)},
	{Name: "LSTM of two layers in two directions", Layer: layers.Recurrent{Name: "l", Cell: "lstm", Units: 2, Layers: 2, Bidirectional: true, Last: true}, Input: []int{3, 1}, Naive: naiveRecurrent(3)},
	{Name: "GRU", Layer: layers.Recurrent{Cell: "gru", Units: 2, Last: true}, Input: []int{3, 2}, Naive: naiveRecurrent(3)},
	{Name: "GRU in two directions", Layer: layers.Recurrent{Cell: "gru", Units: 2, Bidirectional: true}, Input: []int{3, 2}, Naive: naiveRecurrent(3)},
	{Name: "RNN of two layers", Layer: layers.Recurrent{Cell: "rnn", Units: 3, Layers: 2}, Input: []int{4, 2}, Naive: naiveRecurrent(4)},
	{Name: "RNN with a rectifier", Layer: layers.Recurrent{Cell: "rnn-relu", Units: 2}, Input: []int{1, 3}, Naive: naiveRecurrent(1)},
	{Name: "attention", Layer: layers.Attention{Heads: 2}, Input: []int{3, 4}, Naive: naiveAttention(3, 2, false)},
	{Name: "causal attention", Layer: layers.Attention{Name: "a", Heads: 1, Causal: true}, Input: []int{3, 2}, Naive: naiveAttention(3, 1, true)},
	{Name: "dropout", Layer: layers.Dropout{Probability: 0.5}, Input: []int{5}, Naive: pointwise(identity)},
	{Name: "depthwise convolution", Layer: layers.Convolution{Filters: 4, Kernel: []int{3, 2}, Groups: 2, Stride: []int{1, 2}, Padding: []int{1, 0}, Bias: true}, Input: []int{2, 3, 5}},
	{Name: "dilated convolution", Layer: layers.Convolution{Filters: 2, Kernel: []int{2}, Dilation: []int{2}}, Input: []int{1, 4, 3}},
	{Name: "transposed convolution", Layer: layers.Convolution{Filters: 2, Kernel: []int{3}, Stride: []int{2}, Transposed: true}, Input: []int{3, 2, 2}},
	{Name: "max pool", Layer: layers.MaxPool{Size: 2}, Input: []int{2, 5, 4}, Naive: naivePool(5, 4, 2, 2, slices.Max[[]float64])},
	{Name: "overlapping max pool", Layer: layers.MaxPool{Size: 3, Stride: 2}, Input: []int{1, 5, 7}, Naive: naivePool(5, 7, 3, 2, slices.Max[[]float64])},
	{Name: "padded max pool", Layer: layers.MaxPool{Size: 3, Stride: 2, Padding: 1}, Input: []int{2, 4, 5}, Naive: naivePaddedPool(4, 5)},
	{Name: "average pool", Layer: layers.AveragePool{Size: 2}, Input: []int{2, 4, 5}, Naive: naivePool(4, 5, 2, 2, mean)},
	{Name: "overlapping average pool", Layer: layers.AveragePool{Size: 2, Stride: 1}, Input: []int{1, 3, 4}, Naive: naivePool(3, 4, 2, 1, mean)},
	{Name: "global average pool", Layer: layers.GlobalAveragePool{}, Input: []int{3, 4, 2}, Naive: func(_ layers.Network, x []float64) (y []float64) {
		for channel := range slices.Chunk(x, 8) {
			y = append(y, mean(channel))
		}
		return y
	}},
	{Name: "flatten", Layer: layers.Flatten{}, Input: []int{2, 3, 4}, Naive: pointwise(identity)},
	{Name: "ensemble", Layer: ensembleOfTwo, Input: []int{5}, Naive: naiveEnsemble},
	{Name: "rescale", Layer: layers.Rescale{Factors: []float64{2, -0.5, 30}}, Input: []int{3}, Naive: func(_ layers.Network, x []float64) []float64 {
		return []float64{2 * x[0], -0.5 * x[1], 30 * x[2]}
	}},
	{Name: "images", Layer: layers.Images{Channels: 2, Height: 3, Width: 4}, Input: []int{24}, Naive: pointwise(identity)},
	{Name: "zero padding", Layer: layers.ZeroPadShortcut{Channels: 4, Stride: 2}, Input: []int{2, 3, 4}, Naive: naiveZeroPad},
	{Name: "zero padding at full resolution", Layer: layers.ZeroPadShortcut{Channels: 3}, Input: []int{1, 2, 2}, Naive: func(_ layers.Network, x []float64) []float64 {
		return slices.Concat(make([]float64, 4), x, make([]float64, 4))
	}},
	{Name: "residual", Layer: layers.ResidualLayer{Inner: layers.Layers{layers.DenseLayer{Outputs: 4}, layers.Activation("tanh")}}, Input: []int{4}, Naive: naiveResidual},
	{Name: "residual block with a projection", Layer: layers.ResidualLayer{
		Inner: layers.Layers{
			layers.Conv2D{Filters: 4, Kernel: 3, Stride: 2, Padding: 1}, layers.BatchNorm{}, layers.Activation("softplus"),
			layers.Conv2D{Filters: 4, Kernel: 3, Padding: 1}, layers.BatchNorm{},
		},
		Shortcut: layers.Layers{layers.Conv2D{Filters: 4, Kernel: 1, Stride: 2}, layers.BatchNorm{}},
	}, Input: []int{2, 4, 4}},
	{Name: "residual in residual", Layer: layers.ResidualLayer{
		Inner:    layers.Layers{layers.Conv2D{Filters: 4, Kernel: 1, Stride: 2}, layers.ResidualLayer{Inner: layers.Layers{layers.Activation("sin")}}},
		Shortcut: layers.Layers{layers.ZeroPadShortcut{Channels: 4, Stride: 2}},
	}, Input: []int{2, 4, 4}},
}

func TestLayersConform(t *testing.T) {
	layertest.Conform(t, layerCases)
	for _, kind := range layers.LayerKinds() {
		if !slices.ContainsFunc(layerCases, func(c layertest.Case) bool { return layers.KindOf(c.Layer) == kind }) {
			t.Errorf("the layer %q has no row", kind)
		}
	}
}

// formCases has a row for every form, or several for its settings.
var formCases = []layers.Form{
	layers.MLP{Inputs: 2, Hidden: []int{5, 4}, Outputs: 3, Activation: "tanh"},
	layers.MLP{Inputs: 3, Outputs: 1},
	layers.CNN{Channels: 2, Height: 6, Width: 5, Filters: []int{3, 2}, Hidden: []int{4}, Outputs: 2, Activation: "softplus"},
	layers.ResNet{Channels: 2, Blocks: []int{1, 1}, Shortcut: layers.Projection, Outputs: 3, Height: 4, Width: 4},
	layers.ResNet{Channels: 1, Blocks: []int{1, 1}, Shortcut: layers.ZeroPad, Outputs: 1, Height: 4, Width: 6},
	layers.ResNet{Channels: 1, Blocks: []int{1}, Shortcut: layers.Projection, Outputs: 2, Height: 4, Width: 5, Bottleneck: true},
	layers.SequentialForm{Input: []int{8}, Layers: layers.Layers{
		layers.Images{Channels: 2, Height: 2, Width: 2}, layers.Conv2D{Filters: 3, Kernel: 2, Padding: 1}, layers.BatchNorm{},
		layers.Activation("relu"), layers.MaxPool{Size: 2, Stride: 1}, layers.Flatten{}, layers.DenseLayer{Name: "fc", Outputs: 2},
	}},
}

func TestFormsConform(t *testing.T) {
	layertest.ConformForms(t, formCases)
	for _, kind := range layers.Forms() {
		if !slices.ContainsFunc(formCases, func(f layers.Form) bool { return layers.KindOf(f) == kind }) {
			t.Errorf("the form %q has no row", kind)
		}
	}
}

// naiveGroups normalises groups of n elements, of which each neighbours share a scale and a shift.
func naiveGroups(n, each int, eps float64) func(layers.Network, []float64) []float64 {
	return func(net layers.Network, x []float64) []float64 {
		gamma, beta := net.(layers.Normaliser).Scale()
		for from := 0; from < len(x); from += n {
			group := x[from : from+n]
			m, square := mean(group), 0.0
			for _, v := range group {
				square += (v - m) * (v - m) / float64(n)
			}
			for i, v := range group {
				k := (from + i) / each % gamma.Value.Size()
				group[i] = (v-m)/math.Sqrt(square+eps)*gamma.At(k) + beta.At(k)
			}
		}
		return x
	}
}

func identity(x float64) float64 { return x }

func mean(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s / float64(len(v))
}

func pointwise(f func(float64) float64) func(layers.Network, []float64) []float64 {
	return func(_ layers.Network, x []float64) []float64 {
		for i := range x {
			x[i] = f(x[i])
		}
		return x
	}
}

func naiveDense(net layers.Network, x []float64) []float64 {
	d := net.(layers.Dense)
	y := d.B.Floats()
	for i, v := range x {
		for j := range y {
			y[j] += v * d.W.At(i*len(y)+j)
		}
	}
	return y
}

// naiveConv convolves an image of so many rows and columns.
func naiveConv(h, w, stride, padding int) func(layers.Network, []float64) []float64 {
	return func(net layers.Network, x []float64) (y []float64) {
		filters, bias := net.(layers.Affine).Weights()
		s := filters.Value.Shape()
		for o := range s[0] {
			for i := -padding; i+s[2] <= h+padding; i += stride {
				for j := -padding; j+s[3] <= w+padding; j += stride {
					sum := 0.0
					if bias != nil {
						sum = bias.At(o)
					}
					for in := range s[1] {
						for k := range s[2] {
							for l := range s[3] {
								if r, q := i+k, j+l; r >= 0 && r < h && q >= 0 && q < w {
									sum += x[(in*h+r)*w+q] * filters.At(((o*s[1]+in)*s[2]+k)*s[3]+l)
								}
							}
						}
					}
					y = append(y, sum)
				}
			}
		}
		return y
	}
}

func naiveBatchNorm(eps float64) func(layers.Network, []float64) []float64 {
	return func(net layers.Network, x []float64) []float64 {
		all := layers.Arrays(net) // γ, β, mean, variance
		places := len(x) / all[0].Value.Size()
		for i := range x {
			c := i / places
			x[i] = all[0].At(c)*(x[i]-all[2].At(c))/math.Sqrt(all[3].At(c)+eps) + all[1].At(c)
		}
		return x
	}
}

// naivePool reduces every window of an image of so many rows and columns.
func naivePool(h, w, size, stride int, reduce func([]float64) float64) func(layers.Network, []float64) []float64 {
	return func(_ layers.Network, x []float64) (y []float64) {
		for channel := range slices.Chunk(x, h*w) {
			for i := 0; i+size <= h; i += stride {
				for j := 0; j+size <= w; j += stride {
					var window []float64
					for k := range size {
						window = append(window, channel[(i+k)*w+j:(i+k)*w+j+size]...)
					}
					y = append(y, reduce(window))
				}
			}
		}
		return y
	}
}

// naivePaddedPool pools windows of 3×3 every 2 places, with one row and column around the images.
func naivePaddedPool(h, w int) func(layers.Network, []float64) []float64 {
	pool := naivePool(h+2, w+2, 3, 2, slices.Max[[]float64])
	return func(net layers.Network, x []float64) []float64 {
		var wide []float64
		for channel := range slices.Chunk(x, h*w) {
			wide = append(wide, slices.Repeat([]float64{math.Inf(-1)}, w+2)...)
			for row := range slices.Chunk(channel, w) {
				wide = append(append(append(wide, math.Inf(-1)), row...), math.Inf(-1))
			}
			wide = append(wide, slices.Repeat([]float64{math.Inf(-1)}, w+2)...)
		}
		return pool(net, wide)
	}
}

// naiveZeroPad takes every second row and column of two images of 3×4 and puts an image of
// zeros on each side.
func naiveZeroPad(_ layers.Network, x []float64) []float64 {
	zeros := make([]float64, 4)
	return slices.Concat(zeros, []float64{x[0], x[2], x[8], x[10], x[12], x[14], x[20], x[22]}, zeros)
}

func naiveResidual(net layers.Network, x []float64) []float64 {
	y := naiveDense(net.(layers.Residual).Inner.(layers.Sequential)[0], x)
	for i := range y {
		y[i] = x[i] + math.Tanh(y[i])
	}
	return y
}
