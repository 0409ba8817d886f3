package gp_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// line is the network f(x) = 2x + 1.
func line() layers.Network {
	return layers.Dense{
		W: graph.NewParam("weight", []float64{2}, tensor.Float64, 1, 1),
		B: graph.NewParam("bias", []float64{1}, tensor.Float64, 1),
	}
}

func column(v ...float64) *tensor.Dense {
	return tensor.New(tensor.WithShape(len(v), 1), tensor.WithBacking(v))
}

// Problem is what every method is fitted to. Check finds what does not fit together.
func ExampleProblem() {
	p := gp.Problem{
		Net: line(), Likelihood: likelihood.NewGaussian(0.01, tensor.Float64),
		Train: gp.Examples{X: column(0, 1, 2), Y: column(1.1, 2.9, 5)},
	}
	fmt.Println(p.Train.N(), p.Outputs(), p.Dtype(), p.Check())
	p.Train.Y = column(1.1, 2.9)
	fmt.Println(p.Check())
	// Output:
	// 3 1 float64 <nil>
	// bad problem: training examples: inputs of shape (3, 1) with targets of shape (2, 1), expected [N,…] and [N,C], N ≥ 1
}

// Point is the network alone as a posterior: its variance is 0.
func ExamplePoint() {
	g, err := gp.Predict(context.Background(), gp.Point{Net: line(), Dtype: tensor.Float64}, column(0, 10))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(g.Mean, g.Cov)
	// Output: [1 21] [0 0]
}

// Uncertain logits give probabilities that are closer to one half, by a formula and by samples.
func ExampleProbit() {
	g := gp.Gaussian{
		Mean: []float64{2, 0},
		Cov:  []float64{4, 0, 0, 0},
	}
	samples := make([]float64, 2)
	if err := gp.MonteCarloProbs(context.Background(), samples, g, 100_000, 1, 0); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f by the probit approximation, %.2f by samples\n", gp.Probit(nil, g), samples)
	// Output: [0.78 0.22] by the probit approximation, [0.77 0.23] by samples
}

// Two groups of inputs have their inducing points in the middle.
func ExampleKMeans() {
	p := gp.Problem{
		Likelihood: likelihood.NewGaussian(0.01, tensor.Float64),
		Train:      gp.Examples{X: column(0, 1, 2, 10, 11, 12), Y: column(0, 0, 0, 1, 1, 1)},
	}
	z, output, err := gp.KMeans(p, 2, false, data.KMeansPlusPlus, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		fmt.Println(err)
		return
	}
	v := z.Float64s()
	fmt.Println(min(v[0], v[1]), max(v[0], v[1]), output)
	// Output: 1 11 [0 0]
}
