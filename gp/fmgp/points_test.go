package fmgp

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// TestFeaturesOfNetworks: the features are what the last dense layer takes, for vectors and
// for images, with layers after it and with none before it.
func TestFeaturesOfNetworks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	last := layers.NewDense("last", 6, 3, tensor.Float64, rng)
	form, err := layers.NewResNet(8, layers.Projection, 10)
	if err != nil {
		t.Fatal(err)
	}
	resnet, err := form.New(tensor.Float64, rng)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		net  layers.Sequential
		body int // layers before the last dense one
		x    *tensor.Dense
	}{
		"vectors":         {layers.Sequential{layers.NewDense("first", 4, 6, tensor.Float64, rng), layers.Activation("relu"), last}, 2, small.Normal(rng, tensor.Float64, 5, 4)},
		"layers after it": {layers.Sequential{layers.NewDense("first", 4, 6, tensor.Float64, rng), layers.Activation("tanh"), last, layers.Activation("tanh")}, 2, small.Normal(rng, tensor.Float64, 5, 4)},
		"linear":          {layers.Sequential{last}, 0, small.Normal(rng, tensor.Float64, 5, 6)},
		"images": {layers.Sequential{layers.NewConv2D("conv", 1, 3, 3, 2, 1, tensor.Float64, rng), layers.Activation("tanh"), layers.Flatten{},
			layers.NewDense("mid", 12, 6, tensor.Float64, rng), last}, 4, small.Normal(rng, tensor.Float64, 5, 1, 4, 4)},
		"ResNet-8": {resnet, len(resnet) - 1, small.Normal(rng, tensor.Float64, 2, 3, 32, 32)},
	} {
		n, err := newNetwork(c.net, tensor.Float64, c.x.Shape()[1:], true, 1<<30)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n.same != (c.body == 0) {
			t.Errorf("%s: the features are the inputs: %v", name, n.same)
		}
		got, err := n.points(t.Context(), c.x, 0, untold)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b := graph.NewBuilder(tensor.Float64)
		x := small.Given(b, "x", c.x)
		want := small.Values(t, b, b.Reshape(c.net[:c.body].Forward(b, x), c.x.Shape()[0], n.features), c.net.Forward(b, x))
		fixture.Close(t, name+": features", got.f.Float64s(), want[0], 1e-14)
		fixture.Close(t, name+": outputs", got.g.Float64s(), want[1], 1e-14)
	}
}

// TestNoFeatures: a network without a dense layer has none.
func TestNoFeatures(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	net := layers.Sequential{layers.NewConv2D("conv", 1, 3, 2, 2, 0, tensor.Float64, rng), layers.Flatten{}}
	_, err := newNetwork(net, tensor.Float64, []int{1, 2, 2}, true, 1<<30)
	if err == nil || !strings.Contains(err.Error(), "no dense layer") {
		t.Errorf("error %v", err)
	}
}

// TestLoad: a mini-batch holds the rows [x, f, g] in both element types.
func TestLoad(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		of := func(shape ...int) *tensor.Dense { return small.Normal(rand.New(rand.NewPCG(1, 2)), dt, shape...) }
		p := points{x: of(3, 2, 2), f: of(3, 5), g: of(3, 1)}
		dst := tensor.New(tensor.Of(dt), tensor.WithShape(2, 10))
		if err := p.Load(dst, []int{2, 0}, 0); err != nil {
			t.Fatal(err)
		}
		var want []float64
		for _, r := range []int{2, 0} {
			for _, part := range p.parts() {
				want = append(want, graph.Floats(part)[r*width(part):(r+1)*width(part)]...)
			}
		}
		fixture.Close(t, dt.String(), graph.Floats(dst), want, 0)
		wide := append(p.wide(2, 1).Float64s(), p.wide(0, 1).Float64s()...)
		fixture.Close(t, "in float64", wide, append(append([]float64(nil), want[:9]...), want[10:19]...), 0)
	}
}
