package sfr_test

import (
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/sfr"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

func column(v ...float64) *tensor.Dense {
	return tensor.New(tensor.WithShape(len(v), 1), tensor.WithBacking(v))
}

// The network f(x) = 2x + 1 was trained near 0. Three rows that arrive later, which lie below
// it, make SFR's own mean turn away from the network, and the error bars shrink.
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
	s := sfr.Settings{Points: 2, PriorStd: 10, OwnMean: true}
	fitted, err := s.Fit(ctx, p, gp.Run{})
	if err != nil {
		fmt.Println(err)
		return
	}
	p.Train = gp.Examples{X: column(4, 5, 6), Y: column(8, 9.9, 12.2)}
	updated, err := fitted.Posterior.(gp.Updater).Update(ctx, p, gp.Run{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, q := range []gp.Posterior{fitted.Posterior, updated} {
		g, err := gp.Predict(ctx, q, column(5))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%v: %.2f ± %.2f\n", q, g.Mean[0], math.Sqrt(g.Cov[0]))
	}
	// Output:
	// SFR 2: 10.98 ± 0.32
	// SFR 2: 10.10 ± 0.06
}
