package corrected_test

import (
	"context"
	"fmt"
	"log"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/corrected"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
)

// rows returns n examples of the line y = 3x, with an error of .1 up and down in turn.
func rows(n int, from float64) gp.Examples {
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = from + float64(i)/float64(n)
		y[i] = 3*x[i] + 0.1 - 0.2*float64(i%2)
	}
	column := func(v []float64) *tensor.Dense { return tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(v)) }
	return gp.Examples{X: column(x), Y: column(y)}
}

// The network is the line 2x, where the rows have 3x. With a corrected mean the prediction at 2 is near 6.
func Example() {
	net := layers.Sequential{layers.Dense{
		W: graph.NewParam("w", []float64{2}, tensor.Float64, 1, 1), B: graph.NewParam("b", []float64{0}, tensor.Float64, 1),
	}}
	held := rows(20, 0.51)
	p := gp.Problem{Net: net, Likelihood: likelihood.NewGaussian(0.01, tensor.Float64), Train: rows(100, 0.5), Validation: &held}
	f, err := corrected.Of(&laplace.Settings{}).Fit(context.Background(), p, gp.Run{})
	if err != nil {
		log.Fatal(err)
	}
	g, err := gp.Predict(context.Background(), f.Posterior, tensor.New(tensor.WithShape(1, 1), tensor.WithBacking([]float64{2})))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v: %.1f\n", f.Posterior, g.Mean[0])
	// Output:
	// LLA, corrected mean: 6.0
}
