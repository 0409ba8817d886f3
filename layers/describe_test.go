package layers

import (
	"errors"
	"path/filepath"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
)

// opaque is a network that does not describe itself.
type opaque struct{ none }

func (opaque) Forward(_ *graph.Builder, x *graph.Node) *graph.Node { return x }

func TestDescribeErrors(t *testing.T) {
	rng := newRand(1)
	d := func(name string, in, out int) Dense { return NewDense(name, in, out, tensor.Float64, rng) }
	oblong := NewConv2D("c", 1, 1, 2, 1, 0, tensor.Float64, rng).(convolution)
	oblong.w = graph.NewParam("c.weight", make([]float64, 6), tensor.Float64, 1, 1, 2, 3)
	odd := d("odd", 2, 2)
	odd.B = graph.NewParam("offset", make([]float64, 2), tensor.Float64, 2)
	shared := d("a", 2, 2)
	for _, c := range []struct {
		name  string
		net   Network
		input []int
		want  string
	}{
		{"other input", Sequential{d("a", 3, 2)}, []int{4}, `array "a.weight" has shape (3, 2), by the description [4 2]`},
		{"no input", Sequential{d("a", 3, 2)}, nil, "inputs of shape []"},
		{"misfit", Sequential{d("a", 3, 2), d("b", 3, 2)}, []int{3}, `array "b.weight" has shape (3, 2), by the description [2 2]`},
		{"oblong filters", Sequential{oblong, Flatten{}}, []int{1, 4, 4}, `array "c.weight" has shape (1, 1, 2, 3), by the description [1 1 2 2]`},
		{"other names", odd, []int{2}, `array "offset" has shape (2), by the description []`},
		{"shared layer", Sequential{shared, shared}, []int{2}, `two arrays are called "a.weight"`},
		{"no eps", Sequential{batchNorm{gamma: graph.NewParam("n.weight", []float64{1}, tensor.Float64, 1)}}, []int{1, 2, 2}, `layer 1: batch norm "n": eps 0 and momentum 0`},
		{"images as outputs", Sequential{Activation("tanh")}, []int{1, 2, 2}, "expected a vector of outputs"},
		{"opaque", Sequential{Residual{Inner: opaque{}}}, []int{2}, "layer 1: a layers.opaque does not say which layers it is made of"},
		{"opaque shortcut", Residual{Inner: d("a", 2, 2), Shortcut: opaque{}}, []int{2}, "a layers.opaque does not say"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Describe(c.net, c.input...)
			oneLine(t, err, "layers: ", c.want)
			if opaque := c.name == "opaque" || c.name == "opaque shortcut"; errors.Is(err, ErrNotDescribed) != opaque {
				t.Errorf("errors.Is(%v, ErrNotDescribed) is %t", err, !opaque)
			}
		})
	}
}

// A nested list of layers is described as one list.
func TestDescribeNested(t *testing.T) {
	inner := newMLP(t, tensor.Float32, 1, 2, 3, 4)
	f, err := Describe(Sequential{Flatten{}, inner, Sequential{Activation("relu")}}, 1, 1, 2)
	if err != nil || f.String() != "sequential 1×1×2: flatten dense tanh dense relu, 4 outputs" {
		t.Errorf("%v, error %v", f, err)
	}
}

func TestOutputShape(t *testing.T) {
	out, err := OutputShape(Layers{Conv2D{Filters: 5, Kernel: 3, Stride: 2}, MaxPool{Size: 2}}, 1, 12, 9)
	if want := "5×2×2"; err != nil || dims(out) != want {
		t.Errorf("%v, error %v, want %s", out, err, want)
	}
	if out, err = OutputShape(nil, 4); err != nil || dims(out) != "4" {
		t.Errorf("no layers: %v, error %v", out, err)
	}
	_, err = OutputShape(nil, 4, 0)
	oneLine(t, err, "layers: inputs of shape [4 0]")
	_, err = OutputShape(Layers{MaxPool{Size: 2}}, 4)
	oneLine(t, err, "layers: layer 1 (max-pool): inputs of shape [4], expected images [C,H,W]")
}

// Load says of the network of any form what does not fit.
func TestLoadOtherForms(t *testing.T) {
	build := func(f Form) Sequential {
		net, err := Build(f, tensor.Float32, newRand(1))
		if err != nil {
			t.Fatal(err)
		}
		return net
	}
	cnn := func(filters, hidden int) Form {
		return CNN{Channels: 1, Height: 8, Width: 8, Filters: []int{filters, 4}, Hidden: []int{hidden}, Outputs: 2, Activation: "relu"}
	}
	resnet := func(blocks, outputs int) Form {
		return ResNet{Channels: 1, Blocks: []int{blocks}, Shortcut: Projection, Outputs: outputs}
	}
	mlp := MLP{Inputs: 16, Hidden: []int{5}, Outputs: 2, Activation: "relu"}
	for _, c := range []struct {
		file, net Form
		want      []string
	}{
		{cnn(3, 5), cnn(6, 5), []string{`array "conv1.weight": shape (3, 1, 3, 3), expected (6, 1, 3, 3)`,
			`3 arrays have other shapes than the network's: ["conv1.weight" "conv1.bias" "conv2.weight"]`}},
		{cnn(3, 5), cnn(3, 7), []string{`["dense1.weight" "dense1.bias" "dense2.weight"]`}},
		{resnet(1, 2), resnet(2, 2), []string{`missing ["layer1.1.conv1.weight" "layer1.1.bn1.weight"`, "… (2 more)]; there are 17 arrays"}},
		{resnet(2, 2), resnet(1, 2), []string{`not expected ["layer1.1.conv1.weight" "layer1.1.bn1.weight"`}},
		{resnet(1, 2), resnet(1, 3), []string{`array "fc.weight": shape (16, 2), expected (16, 3)`, `2 arrays have other shapes`}},
		{cnn(3, 5), mlp, []string{`not expected ["conv1.weight" "conv1.bias" "conv2.weight" "conv2.bias"]`}},
		{mlp, cnn(3, 5), []string{`missing ["conv1.weight" "conv1.bias" "conv2.weight" "conv2.bias"]`}},
	} {
		path := filepath.Join(t.TempDir(), "w.npz")
		if err := Save(path, build(c.file)); err != nil {
			t.Fatal(err)
		}
		refused(t, path, build(c.net), LoadOptions{}, append(c.want, path)...)
	}
}
