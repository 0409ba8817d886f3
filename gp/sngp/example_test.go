package sngp_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/sngp"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// A network learns sin(3x) for x from −1 to 1. SNGP knows that it knows nothing at x = 4.
func Example() {
	ctx, n := context.Background(), 200
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = -1 + 2*float64(i)/float64(n-1)
		y[i] = math.Sin(3 * x[i])
	}
	column := func(v ...float64) *tensor.Dense {
		return tensor.New(tensor.WithShape(len(v), 1), tensor.WithBacking(v))
	}
	net, err := layers.MLP{Inputs: 1, Hidden: []int{20}, Outputs: 1, Activation: "tanh"}.New(tensor.Float64, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		fmt.Println(err)
		return
	}
	m := train.MAP{Net: net, Loss: train.SquaredError, Config: train.Config{Iterations: 1000, Optimizer: &train.Adam{LR: 1e-2}}}
	if _, err := m.Train(ctx, train.Rows{All: column(x...)}, column(y...)); err != nil {
		fmt.Println(err)
		return
	}
	p := gp.Problem{Net: net, Likelihood: likelihood.NewGaussian(0.01, tensor.Float64), Train: gp.Examples{X: column(x...), Y: column(y...)}}
	fitted, err := (&sngp.Settings{Features: 256, Iterations: 200}).Fit(ctx, p, gp.Run{})
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := gp.Predict(ctx, fitted.Posterior, column(0.5, 4))
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, at := range []float64{0.5, 4} {
		fmt.Printf("at %g a standard deviation below a tenth: %t\n", at, math.Sqrt(g.Cov[i]) < 0.1)
	}
	// Output:
	// at 0.5 a standard deviation below a tenth: true
	// at 4 a standard deviation below a tenth: false
}
