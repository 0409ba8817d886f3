package laplace_test

import (
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// trained is the network f(x) = 2x + 1, which fits the data of problem.
func trained() layers.Network {
	return layers.Dense{
		W: graph.NewParam("layer.weight", []float64{2}, tensor.Float64, 1, 1),
		B: graph.NewParam("layer.bias", []float64{1}, tensor.Float64, 1),
	}
}

func column(v ...float64) *tensor.Dense {
	return tensor.New(tensor.WithShape(len(v), 1), tensor.WithBacking(v))
}

func problem() gp.Problem {
	return gp.Problem{
		Net: trained(), Likelihood: likelihood.NewGaussian(0.01, tensor.Float64),
		Train: gp.Examples{X: column(-1, -0.5, 0, 0.5, 1), Y: column(-1.1, 0.1, 0.9, 2.1, 2.9)},
	}
}

// A method is fitted to a problem. The posterior is more certain near the data.
func Example() {
	ctx := context.Background()
	s := laplace.Settings{Structure: "full", Hyper: "fixed", PriorStd: 1}
	fitted, err := s.Fit(ctx, problem(), gp.Run{})
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := gp.Predict(ctx, fitted.Posterior, column(0, 1, 10))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(fitted.Posterior)
	for i, mean := range g.Mean {
		fmt.Printf("%.0f ± %.3f\n", mean, math.Sqrt(g.Cov[i]))
	}
	// Output:
	// LLA
	// 1 ± 0.045
	// 3 ± 0.077
	// 21 ± 0.633
}

// Hyper-parameters maximise the marginal likelihood unless they are given. The record of a fit has
// the value of its maximum.
func ExampleSettings_Fit() {
	ctx := context.Background()
	for _, s := range []laplace.Settings{{Structure: "diag"}, {Structure: "diag", PriorStd: 1, NoiseStd: 0.2}} {
		fitted, err := s.Fit(ctx, problem(), gp.Run{})
		if err != nil {
			fmt.Println(err)
			return
		}
		found := fitted.Record.Facts[2]
		fmt.Printf("σ₀ %.2f, σ %.2f, %s %.2f\n", fitted.Record.PriorStds[0], math.Sqrt(fitted.NoiseVariance), found.Name, found.Value)
	}
	// Output:
	// σ₀ 1.58, σ 0.13, log marginal likelihood -3.13
	// σ₀ 1.00, σ 0.20, log marginal likelihood -4.17
}

// A file holds a posterior beside its network; gptest.Memory stands for the file here.
func ExampleMethod() {
	ctx, p := context.Background(), problem()
	fitted, err := (&laplace.Settings{Structure: "kfac"}).Fit(ctx, p, gp.Run{})
	if err != nil {
		fmt.Println(err)
		return
	}
	state, err := fitted.Posterior.State()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range state.Arrays {
		fmt.Println(a.Name, a.Value.Shape())
	}
	file, err := gptest.Memory(state)
	if err != nil {
		fmt.Println(err)
		return
	}
	restored, err := laplace.Method.Restore(ctx, p.Net, p.Likelihood, file)
	fmt.Println(restored, err)
	// Output:
	// layer.weight.input.values (1)
	// layer.weight.input.vectors (1, 1)
	// layer.weight.cotangent.values (1)
	// layer.weight.cotangent.vectors (1, 1)
	// LLA KFAC <nil>
}
