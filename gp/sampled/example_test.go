package sampled_test

import (
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/sampled"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

func column(v ...float64) *tensor.Dense {
	return tensor.New(tensor.WithShape(len(v), 1), tensor.WithBacking(v))
}

// The network f(x) = 2x + 1 has two weights. The standard deviations of full LLA at these
// inputs are 0.045, 0.077 and 0.633; 1,000 samples give them with an error of some 2 percent.
func Example() {
	ctx := context.Background()
	p := gp.Problem{
		Net: layers.Dense{
			W: graph.NewParam("layer.weight", []float64{2}, tensor.Float64, 1, 1),
			B: graph.NewParam("layer.bias", []float64{1}, tensor.Float64, 1),
		},
		Likelihood: likelihood.NewGaussian(0.01, tensor.Float64),
		Train:      gp.Examples{X: column(-1, -0.5, 0, 0.5, 1), Y: column(-1.1, 0.1, 0.9, 2.1, 2.9)},
	}
	s := sampled.Settings{Samples: 1000, PriorStd: 1}
	fitted, err := s.Fit(ctx, p, gp.Run{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	q := fitted.Posterior
	x := column(0, 1, 10)
	g, err := gp.Predict(ctx, q, x)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(q)
	for i, mean := range g.Mean {
		fmt.Printf("%.0f ± %.2f\n", mean, math.Sqrt(g.Cov[i]))
	}
	functions, err := q.(interface {
		Functions(ctx context.Context, x *tensor.Dense) (*tensor.Dense, error)
	}).Functions(ctx, x)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("values of functions:", functions.Shape())
	// Output:
	// Sampled LLA 1000
	// 1 ± 0.04
	// 3 ± 0.08
	// 21 ± 0.61
	// values of functions: (1000, 3, 1)
}
