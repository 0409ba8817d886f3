package task_test

import (
	"context"
	"fmt"
	"log"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/task"
	"gorgonia.org/tensor"
)

// Targets go to the network with mean 0 and standard deviation 1. The predictions for the targets
// come back in the targets' own units.
func Example() {
	set := &data.Set{
		Features: []string{"size"}, X: tensor.New(tensor.WithShape(2, 1), tensor.WithBacking([]float64{50, 150})),
		Targets: []string{"price"}, Y: tensor.New(tensor.WithShape(2, 1), tensor.WithBacking([]float64{1000, 3000})),
	}
	in, err := task.Standardized(set)
	if err != nil {
		log.Fatal(err)
	}
	out, err := task.StandardizedTargets(set)
	if err != nil {
		log.Fatal(err)
	}
	e, err := task.Task{Inputs: in, Outputs: out}.Examples(set, tensor.Float64)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the network sees", e.X.Float64s(), "and", e.Y.Float64s())

	latent := gp.Gaussian{
		Mean: []float64{0.5},
		Cov:  []float64{0.03},
	}
	var p task.Prediction
	if err := (task.Task{Outputs: out}).Fill(context.Background(), latent, task.Observation{NoiseVariance: 0.01}, task.PredictOptions{}, &p); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %g ± %g\n", p.Targets[0], p.Mean[0], p.Std()[0])
	// Output:
	// the network sees [-1 1] and [-1 1]
	// price: 2500 ± 200
}

// Images are bytes in the data and numbers from 0 to 1, less a mean, for the network.
func ExampleInputs_Apply() {
	in := task.Inputs{Shape: []int{4}, Mean: []float64{0.5, 0.5, 0.5, 0.5}, Std: []float64{0.5, 0.5, 0.5, 0.5}}
	image := tensor.New(tensor.WithShape(1, 2, 2), tensor.WithBacking([]uint8{0, 51, 204, 255}))
	x, err := in.Apply(image, tensor.Float64)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v: %.1f\n", x.Shape(), x.Float64s())
	// Output: (1, 4): [-1.0 -0.6 0.6 1.0]
}
