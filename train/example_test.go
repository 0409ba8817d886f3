package train_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// A network is fitted to a sine. The weights change in place.
func ExampleMAP() {
	const n = 200
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = -1 + 2*float64(i)/(n-1)
		y[i] = math.Sin(3 * x[i])
	}
	net, err := layers.MLP{Inputs: 1, Hidden: []int{16}, Outputs: 1, Activation: "tanh"}.New(tensor.Float64, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		fmt.Println(err)
		return
	}
	column := func(v []float64) *tensor.Dense { return tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(v)) }
	fit := train.MAP{Net: net, Loss: train.SquaredError, Config: train.Config{
		Iterations: 1000, Optimizer: &train.Adam{LR: 1e-2}, Schedule: train.Cosine(0),
	}}
	result, err := fit.Train(context.Background(), train.Rows{All: column(x)}, column(y))
	if err != nil {
		fmt.Println(err)
		return
	}

	b := graph.NewBuilder(tensor.Float64)
	out := net.Forward(b, b.Param(&graph.Param{Name: "x", Value: tensor.New(tensor.WithShape(1, 1), tensor.WithBacking([]float64{0.5}))}))
	p, err := graph.Compile(b, []*graph.Node{out}, graph.Options{})
	if err == nil {
		err = p.Run()
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s after %d iterations; at 0.5 the network says %.1f, the sine %.1f\n",
		result.Stopped, result.Iterations, p.Scalar(out), math.Sin(1.5))
	// Output: finished after 1000 iterations; at 0.5 the network says 1.0, the sine 1.0
}

// valley is an objective of its own: (a−3)² + (b+1)². Its gradient is known.
type valley struct{ at train.Param }

func (v valley) Params() []train.Param { return []train.Param{v.at} }

func (v valley) Evaluate(_ context.Context, _ int) (loss float64, err error) {
	x, grad := v.at.Value.Float64s(), v.at.Grad.Float64s()
	for i, centre := range []float64{3, -1} {
		loss += (x[i] - centre) * (x[i] - centre)
		grad[i] = 2 * (x[i] - centre)
	}
	return loss, nil
}

// Run minimises whatever lends it parameters and gradients.
func ExampleRun() {
	pair := func() *tensor.Dense { return tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(2)) }
	v := valley{train.Param{Name: "at", Value: pair(), Grad: pair()}}
	_, err := train.Run(context.Background(), v, train.Config{Iterations: 100, Optimizer: &train.SGD{LR: 0.1}})
	fmt.Printf("%.3f %v\n", v.at.Value.Float64s(), err)
	// Output: [3.000 -1.000] <nil>
}
