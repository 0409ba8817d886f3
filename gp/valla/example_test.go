package valla_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
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

// A layer is nodes of the network's graph, and its loss is one of them: terms can be added
// to it, and gradients taken with respect to whatever is in it.
func ExampleLayer_Loss() {
	net, data, err := sine(50)
	if err != nil {
		fmt.Println(err)
		return
	}
	z := tensor.New(tensor.WithShape(3, 1), tensor.WithBacking([]float64{-0.9, 0, 0.9}))
	layer, err := valla.New(jacobian.NTK{Net: net}, z, nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	b := graph.NewBuilder(tensor.Float64)
	x, y := b.Input("x", 50, 1), b.Input("y", 50, 1)
	noise := likelihood.NewGaussian(0.01, tensor.Float64)
	loss := layer.Loss(b, x, y, net.Forward(b, x), valla.Objective{Likelihood: noise, N: 50})
	total := b.Add(loss.Loss, b.Sum(b.Square(b.Param(layer.Z)))) // a term of one's own
	grads := graph.Grad(b, total, b.Param(layer.Z), b.Param(noise.LogVariance))

	p, err := graph.Compile(b, append(grads, total), graph.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for node, value := range map[*graph.Node]*tensor.Dense{x: data.X, y: data.Y} {
		if err := p.Bind(node, value); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := p.Run(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("covariances %v, gradients %v and %v, a finite loss: %t\n",
		loss.Q.Shape(), p.Value(grads[0]).Shape(), p.Value(grads[1]).Shape(), !math.IsInf(p.Scalar(total), 0) && !math.IsNaN(p.Scalar(total)))
	// Output: covariances (50, 1, 1), gradients (3, 1) and (1), a finite loss: true
}
