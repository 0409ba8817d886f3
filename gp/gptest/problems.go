package gptest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Problem is a tiny problem for methods.
type Problem struct {
	Name string // network, task and element type
	gp.Problem
	Probe *tensor.Dense // inputs [5,…] to predict at
}

const (
	trainRows      = 24
	validationRows = 8
	probeRows      = 5
	noiseStd       = 0.3 // of the targets around the network's outputs
)

// Problems returns tiny problems, made anew at each call: regression with one and two
// outputs and classification with three classes, for a multilayer perceptron and a
// convolutional network, in both element types. Targets scatter around the network's
// outputs as the likelihood says.
func Problems() ([]Problem, error) {
	var all []Problem
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		for _, net := range []string{"MLP", "CNN"} {
			for _, task := range []struct {
				name    string // in the name of the problem
				outputs int    // of the network
				classes bool   // whether the task is classification
			}{{"1 output", 1, false}, {"2 outputs", 2, false}, {"3 classes", 3, true}} {
				p, err := newProblem(net, task.outputs, task.classes, dt)
				if err != nil {
					return nil, err
				}
				p.Name = fmt.Sprint(net, ", ", task.name, ", ", dt)
				all = append(all, p)
			}
		}
	}
	return all, nil
}

func newProblem(net string, outputs int, classes bool, dt tensor.Dtype) (Problem, error) {
	rng := rand.New(rand.NewPCG(uint64(outputs), 20))
	shape, network := []int{2}, mlp
	if net == "CNN" {
		shape, network = []int{1, 4, 4}, cnn
	}
	p := Problem{Problem: gp.Problem{Net: network(outputs, dt, rng), Likelihood: likelihood.NewGaussian(noiseStd*noiseStd, dt)}}
	if classes {
		p.Likelihood = likelihood.Softmax{}
	}
	var err error
	if p.Train, err = p.draw(trainRows, shape, dt, rng); err != nil {
		return p, err
	}
	held, err := p.draw(validationRows, shape, dt, rng)
	p.Validation = &held
	p.Probe = normal(probeRows, shape, dt, rng)
	return p, err
}

// mlp has two inputs and four hidden units.
func mlp(outputs int, dt tensor.Dtype, rng *rand.Rand) layers.Network {
	return layers.Sequential{
		layers.NewDense("dense1", 2, 4, dt, rng), layers.Activation("tanh"), layers.NewDense("dense2", 4, outputs, dt, rng),
	}
}

// cnn takes images [1,4,4].
func cnn(outputs int, dt tensor.Dtype, rng *rand.Rand) layers.Network {
	norm := layers.NewBatchNorm("norm", 2, dt)
	_, beta := norm.Scale()
	beta.Set(0, 0.2)
	layers.State(norm)[0].Set(0, 0.1) // the running mean
	layers.State(norm)[1].Set(1, 0.5) // the running variance
	return layers.Sequential{
		layers.NewConv2D("conv", 1, 2, 3, 2, 1, dt, rng), norm, layers.Activation("tanh"),
		layers.Flatten{}, layers.NewDense("last", 2*2*2, outputs, dt, rng),
	}
}

// draw draws n examples of inputs of a shape.
func (p Problem) draw(n int, shape []int, dt tensor.Dtype, rng *rand.Rand) (gp.Examples, error) {
	x := normal(n, shape, dt, rng)
	y, err := run(x, p.Net.Forward)
	if err != nil {
		return gp.Examples{}, fmt.Errorf("gptest: a problem: %w", err)
	}
	c := len(y) / n
	for i := 0; i < len(y); i += c {
		scatter(p.Likelihood, y[i:i+c], rng)
	}
	return gp.Examples{X: x, Y: graph.Convert(dense.Of(y, n, c), dt)}, nil
}

// scatter makes a target of the latent values f: f with noise, or a one-hot row of a class
// drawn with probabilities softmax(f), the largest of f_c plus Gumbel noise.
func scatter(l likelihood.Likelihood, f []float64, rng *rand.Rand) {
	_, noisy := l.(likelihood.Gaussian)
	best := 0
	for c := range f {
		if noisy {
			f[c] += noiseStd * rng.NormFloat64()
		} else {
			f[c] -= math.Log(rng.ExpFloat64())
		}
		if f[c] > f[best] {
			best = c
		}
	}
	if !noisy {
		clear(f)
		f[best] = 1
	}
}

// normal draws n inputs of a shape each.
func normal(n int, shape []int, dt tensor.Dtype, rng *rand.Rand) *tensor.Dense {
	v := make([]float64, n*tensor.Shape(shape).TotalSize())
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return graph.Convert(dense.Of(v, append([]int{n}, shape...)...), dt)
}
