package ella_test

import (
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/ella"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

func column(v ...float64) *tensor.Dense {
	return tensor.New(tensor.WithShape(len(v), 1), tensor.WithBacking(v))
}

// The network f(x) = 2x + 1 has two weights. With both directions ELLA is exact LLA; with the
// leading direction alone ELLA underestimates the standard deviations away from 0.
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
	for _, rank := range []int{2, 1} {
		s := ella.Settings{Points: 5, Rank: rank, PriorStd: 1}
		fitted, err := s.Fit(ctx, p, gp.Run{})
		if err != nil {
			fmt.Println(err)
			return
		}
		g, err := gp.Predict(ctx, fitted.Posterior, column(0, 1, 10))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%v, %d of 2 directions\n", fitted.Posterior, rank)
		for i, mean := range g.Mean {
			fmt.Printf("%.0f ± %.3f\n", mean, math.Sqrt(g.Cov[i]))
		}
	}
	// Output:
	// ELLA 5, 2 of 2 directions
	// 1 ± 0.045
	// 3 ± 0.077
	// 21 ± 0.633
	// ELLA 5, 1 of 2 directions
	// 1 ± 0.045
	// 3 ± 0.045
	// 21 ± 0.045
}
