package laplace

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// The network has 2·w + w + w + 1 weights: 601 at w = 150, 4001 at w = 1000.
var sizes = map[string]int{"weight space P=601": 150, "function space P=4001": 1000}

func BenchmarkFit(b *testing.B) {
	for name, hidden := range sizes {
		p := newProblem(b, 1, tensor.Float64, 1000, hidden, 1)
		for what, o := range map[string]Options{"fixed": {PriorStd: 1, NoiseStd: 0.5}, "maximised": {}} {
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
		q := p.fit(b, Options{PriorStd: 1, NoiseStd: 0.5})
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				predict(b, q, p.x)
			}
		})
	}
}

// imageProblem has the sizes of MNIST: 10,000 images of 28×28 pixels, of which a
// fifth are not 0, and 10 classes; 784-200-200-10 in float32.
func imageProblem(b *testing.B) problem {
	rng := rand.New(rand.NewPCG(5, 5))
	net, err := layers.MLP{Inputs: 784, Hidden: []int{200, 200}, Outputs: 10, Activation: "tanh"}.New(tensor.Float32, rng)
	if err != nil {
		b.Fatal(err)
	}
	const n = 10_000
	x, y := make([]float64, n*784), make([]float64, n*10)
	for i := range x {
		x[i] = max(0, 5*rng.Float64()-4)
	}
	for i := range n {
		y[i*10+rng.IntN(10)] = 1
	}
	single := func(v []float64, rows, cols int) *tensor.Dense {
		return graph.Convert(dense(v, rows, cols), tensor.Float32)
	}
	return problem{net: net, x: single(x, n, 784), y: single(y, n, 10), probe: single(x[:1000*784], 1000, 784)}
}

var imageFamily = []member{
	{"diagonal", Options{Structure: Diagonal}},
	{"KFAC", Options{Structure: KFAC}},
	{"last-layer full", Options{Weights: LastLayer}},
	{"last-layer KFAC", Options{Weights: LastLayer, Structure: KFAC}},
}

// The marginal likelihood is not maximised: its time depends on the network.
func BenchmarkFitImages(b *testing.B) {
	p := imageProblem(b)
	for _, m := range imageFamily {
		m.o.Likelihood, m.o.PriorStd = Softmax, 1
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
		m.o.Likelihood, m.o.PriorStd = Softmax, 1
		q := p.fit(b, m.o)
		b.Run(m.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := q.Predict(context.Background(), p.probe); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
