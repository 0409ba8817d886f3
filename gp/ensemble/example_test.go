package ensemble_test

import (
	"context"
	"fmt"
	"log"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/ensemble"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
)

// Two networks, 2x and 4x, as a deep ensemble: the mean is 3x, and the variance between them is x².
func ExamplePoints() {
	var members layers.Ensemble
	for k, slope := range []float64{2, 4} {
		members = append(members, layers.Sequential{layers.Dense{
			W: graph.NewParam(fmt.Sprint(k, "/w"), []float64{slope}, tensor.Float64, 1, 1),
			B: graph.NewParam(fmt.Sprint(k, "/b"), []float64{0}, tensor.Float64, 1),
		}})
	}
	p := ensemble.Points(layers.Sequential{members}, tensor.Float64)
	x := tensor.New(tensor.WithShape(2, 1), tensor.WithBacking([]float64{1, 5}))
	g, err := gp.Predict(context.Background(), p, x)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(g.Mean, g.Cov)
	// Output:
	// [3 15] [1 25]
}
