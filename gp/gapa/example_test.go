package gapa_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gapa"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// The error bars of a network that was never trained grow with the distance from the rows; its
// outputs stay what they are.
func Example() {
	net, err := layers.MLP{Inputs: 1, Hidden: []int{20}, Outputs: 1, Activation: "tanh"}.New(tensor.Float64, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		log.Fatal(err)
	}
	set := data.Toy(1)
	p := gp.Problem{Net: net, Likelihood: likelihood.NewGaussian(1, tensor.Float64), Train: gp.Examples{X: set.X, Y: set.Y}}
	fitted, err := (&gapa.Settings{}).Fit(context.Background(), p, gp.Run{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	far := tensor.New(tensor.WithShape(2, 1), tensor.WithBacking([]float64{set.X.Float64s()[0], 100}))
	g, err := gp.Predict(context.Background(), fitted.Posterior, far)
	if err != nil {
		log.Fatal(err)
	}
	v := g.Cov
	fmt.Printf("%v: the standard deviation is larger far from the rows: %v\n", fitted.Posterior, math.Sqrt(v[1]) > math.Sqrt(v[0]))
	// Output: GAPA: the standard deviation is larger far from the rows: true
}
