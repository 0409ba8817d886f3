package valla_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// sine returns n inputs in [−1, 1] with their sines, and a network trained on them.
func sine(n int) (net layers.Network, data gp.Examples, err error) {
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = -1 + 2*float64(i)/float64(n-1)
		y[i] = math.Sin(3*x[i]) + 0.1*math.Cos(40*x[i])
	}
	column := func(v []float64) *tensor.Dense { return tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(v)) }
	data = gp.Examples{X: column(x), Y: column(y)}
	net, err = layers.MLP{Inputs: 1, Hidden: []int{16}, Outputs: 1, Activation: "tanh"}.New(tensor.Float64, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		return nil, data, err
	}
	fit := train.MAP{Net: net, Loss: train.SquaredError, Config: train.Config{Iterations: 500, Optimizer: &train.Adam{LR: 1e-2}}}
	_, err = fit.Train(context.Background(), train.Rows{All: data.X}, data.Y)
	return net, data, err
}

// A trained network gets error bars: small where there are data, large where there are none.
func ExampleSettings_Fit() {
	ctx := context.Background()
	net, data, err := sine(200)
	if err != nil {
		fmt.Println(err)
		return
	}
	settings := &valla.Settings{Inducing: 20, Iterations: 200, Alpha: new(0.0), FixPrior: true}
	fitted, err := settings.Fit(ctx, gp.Problem{
		Net: net, Likelihood: likelihood.NewGaussian(0.01, tensor.Float64), Train: data,
	}, gp.Run{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	at := tensor.New(tensor.WithShape(2, 1), tensor.WithBacking([]float64{0.2, 4}))
	g, err := gp.Predict(ctx, fitted.Posterior, at)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(fitted.Posterior)
	for i, variance := range g.Cov {
		std := math.Sqrt(variance)
		fmt.Printf("at %.1f: standard deviation above 0.1: %t, above 1: %t\n", at.Float64s()[i], std > 0.1, std > 1)
	}
	// Output:
	// VaLLA 20
	// at 0.2: standard deviation above 0.1: false, above 1: false
	// at 4.0: standard deviation above 0.1: true, above 1: true
}
