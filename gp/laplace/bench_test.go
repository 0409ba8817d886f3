package laplace

import (
	"testing"

	"github.com/go-valla/valla/data/idx"
	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// The network has 2·w + w + w + 1 weights: 601 at w = 150, 4001 at w = 1000.
var sizes = map[string]int{"weight space P=601": 150, "function space P=4001": 1000}

func BenchmarkFit(b *testing.B) {
	for name, hidden := range sizes {
		p := newProblem(b, 1, tensor.Float64, 1000, hidden, 1)
		for what, o := range map[string]options{"fixed": {PriorStd: 1, NoiseStd: 0.5}, "maximised": {}} {
			b.Run(name+" "+what, func(b *testing.B) {
				for b.Loop() {
					p.fit(b, o)
				}
			})
		}
	}
}

func BenchmarkPredict(b *testing.B) {
	for name, hidden := range sizes {
		p := newProblem(b, 1, tensor.Float64, 1000, hidden, 1)
		q := p.fit(b, options{PriorStd: 1, NoiseStd: 0.5})
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				small.Predict(b, q, p.x)
			}
		})
	}
}

// mnist is MNIST with the network that the paper used, 784-200-200-10 with tanh in float32.
func mnist(t testing.TB) (*image.Splits, layers.Sequential) {
	t.Helper()
	s, err := idx.MNIST(fixture.Shared(t, "data", "mnist"))
	if err != nil {
		t.Fatal(err)
	}
	net, err := layers.MLP{Inputs: 784, Hidden: []int{200, 200}, Outputs: 10, Activation: "tanh"}.New(tensor.Float32, newRand(1))
	if err == nil {
		err = layers.Load(fixture.Shared(t, "weights", "ludvins_mlp_mnist.npz"), net, layers.LoadOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, net
}

// imageProblem is the first 10,000 images of mnist, as published numbers of speed are for.
func imageProblem(b *testing.B) problem {
	s, net := mnist(b)
	const n = 10_000
	x, y := idx.Dense[float32](&s.Train.Images), image.OneHot[float32](s.Train)
	first := func(t *tensor.Dense, rows, cols int) *tensor.Dense {
		return tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(t.Float32s()[:rows*cols]))
	}
	return problem{net: net, x: first(x, n, 784), y: first(y, n, 10), probe: first(idx.Dense[float32](&s.Test.Images), 1000, 784)}
}

var imageFamily = []member{
	{"diagonal", options{Structure: kindDiagonal}},
	{"KFAC", options{Structure: kindKFAC}},
	{"last-layer full", options{Weights: []string{layers.LastLayerWeights}}},
	{"last-layer KFAC", options{Weights: []string{layers.LastLayerWeights}, Structure: kindKFAC}},
	{"100 rows, full", options{Subset: 100}},
}

// The marginal likelihood is not maximised: its time depends on the network.
func BenchmarkFitImages(b *testing.B) {
	p := imageProblem(b)
	for _, m := range imageFamily {
		m.o.Likelihood, m.o.PriorStd = likelihood.Softmax{}, 1
		b.Run(m.name, func(b *testing.B) {
			for b.Loop() {
				p.fit(b, m.o)
			}
		})
	}
}

func BenchmarkPredictImages(b *testing.B) {
	p := imageProblem(b)
	for _, m := range imageFamily {
		m.o.Likelihood, m.o.PriorStd = likelihood.Softmax{}, 1
		q := p.fit(b, m.o)
		b.Run(m.name, func(b *testing.B) {
			e, err := gp.NewEngine(q, p.probe.Shape()[1:], gp.EngineOptions{})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := e.PredictAll(b.Context(), p.probe); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// 32 images through a ResNet-20 with KFAC and with all of H, of all its weights: a pass of the fit and a
// prediction.
func BenchmarkResNet20(b *testing.B) {
	form, err := layers.NewResNet(20, layers.Projection, 10)
	if err != nil {
		b.Fatal(err)
	}
	net, err := form.New(tensor.Float32, newRand(1))
	if err != nil {
		b.Fatal(err)
	}
	const n = 32
	rng, pixels, hot := newRand(2), make([]float32, n*3*32*32), make([]float32, n*10)
	for i := range pixels {
		pixels[i] = float32(rng.NormFloat64())
	}
	for i := range n {
		hot[i*10+i%10] = 1
	}
	x := tensor.New(tensor.WithShape(n, 3, 32, 32), tensor.WithBacking(pixels))
	p := problem{net: net, x: x, y: tensor.New(tensor.WithShape(n, 10), tensor.WithBacking(hot))}
	for _, k := range []structureKind{kindKFAC, kindFull} {
		o := options{Structure: k, Likelihood: likelihood.Softmax{}, PriorStd: 0.1}
		b.Run("fit "+string(k), func(b *testing.B) {
			for b.Loop() {
				p.fit(b, o)
			}
		})
		q := p.fit(b, o)
		b.Run("predict "+string(k), func(b *testing.B) {
			for b.Loop() {
				small.Predict(b, q, x)
			}
		})
	}
}
