package unseen_test

import (
	"context"
	"fmt"
	"log"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/unseen"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Pseudo-rows lie on the way from a row to its nearest neighbour and keep its target.
func ExampleBetween() {
	column := func(v ...float64) *tensor.Dense {
		return tensor.New(tensor.WithShape(len(v), 1), tensor.WithBacking(v))
	}
	p := gp.Problem{
		Net: layers.Dense{
			W: graph.NewParam("layer.weight", []float64{2}, tensor.Float64, 1, 1),
			B: graph.NewParam("layer.bias", []float64{0}, tensor.Float64, 1),
		},
		Likelihood: likelihood.NewGaussian(0.01, tensor.Float64),
		Train:      gp.Examples{X: column(0, 3, 12), Y: column(0.1, 5.9, 24.2)},
	}
	e, err := unseen.Between(context.Background(), p, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.X.Float64s(), e.Y.Float64s())
	// Output: [2 1 6] [0.1 5.9 24.2]
}
