package fmgp_test

import (
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/fmgp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// The network f(x) = 2x is wrong where x is large: the targets bend away from it. The error
// bars show this bend, and far from the rows they are the error bars of the prior.
func Example() {
	var x, y []float64
	for i := range 40 {
		v := float64(i) / 20
		x, y = append(x, v), append(y, 2*v+0.1*math.Pow(v, 4)*math.Cos(9*v))
	}
	p := gp.Problem{
		Net: layers.Dense{
			W: graph.NewParam("layer.weight", []float64{2}, tensor.Float64, 1, 1),
			B: graph.NewParam("layer.bias", []float64{0}, tensor.Float64, 1),
		},
		Likelihood: likelihood.NewGaussian(0.01, tensor.Float64),
		Train:      gp.Examples{X: column(x...), Y: column(y...)},
	}
	s := fmgp.Settings{Inducing: 10, Iterations: 2000}
	fitted, err := s.Fit(context.Background(), p, gp.Run{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := gp.Predict(context.Background(), fitted.Posterior, column(0.5, 1.9, 9))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(fitted.Posterior)
	for i, mean := range g.Mean {
		fmt.Printf("%.1f ± %.1f\n", mean, math.Sqrt(g.Cov[i]+fitted.NoiseVariance))
	}
	// Output:
	// FMGP 10
	// 1.0 ± 0.0
	// 3.8 ± 0.6
	// 18.0 ± 1.7
}

func column(v ...float64) *tensor.Dense {
	return tensor.New(tensor.WithShape(len(v), 1), tensor.WithBacking(v))
}
