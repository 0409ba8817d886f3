package mfvi_test

import (
	"context"
	"fmt"
	"log"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/mfvi"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// The network f(x) = 2x becomes a distribution of networks: its outputs scatter more where x is
// large.
func Example() {
	column := func(v ...float64) *tensor.Dense {
		return tensor.New(tensor.WithShape(len(v), 1), tensor.WithBacking(v))
	}
	p := gp.Problem{
		Net: layers.Dense{
			W: graph.NewParam("layer.weight", []float64{2}, tensor.Float64, 1, 1),
			B: graph.NewParam("layer.bias", []float64{0}, tensor.Float64, 1),
		},
		Likelihood: likelihood.NewGaussian(0.01, tensor.Float64),
		Train:      gp.Examples{X: column(-1, -0.5, 0, 0.5, 1), Y: column(-2.1, -0.9, 0.1, 1.1, 1.9)},
	}
	fitted, err := (&mfvi.Settings{Iterations: 50, LogStd: -2}).Fit(context.Background(), p, gp.Run{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	g, err := gp.Predict(context.Background(), fitted.Posterior, column(0.1, 10))
	if err != nil {
		log.Fatal(err)
	}
	v := g.Cov
	fmt.Printf("%v: the variance is larger far away: %v\n", fitted.Posterior, v[1] > v[0])
	// Output: MF-VI: the variance is larger far away: true
}
