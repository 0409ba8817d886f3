package valla

import (
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// StepMemory predicts the bytes that a natural-gradient step over all parameters of a network
// takes, for examples of shape input, with some inducing points and with rows computed at a time,
// which are drawn from more. Nothing of that size is allocated. A mini-batch that does not fit into
// the memory of a fit is computed in parts, down to one row at a time.
func StepMemory(net layers.Network, input []int, inducing, rows int) (int64, error) {
	g, layer, outputs, err := plannedStep(net, input, inducing, rows, false)
	if err != nil {
		return 0, err
	}
	z := layer.Z.Value
	const (
		copies  = 5        // of Z: its values, its gradient, two moments of Adam, its best values
		runtime = 64 << 20 // what any program takes, and what kernels use as a workspace
	)
	arrays := layers.Count(net) + copies*z.Size() + rows*(z.Size()/inducing+outputs)
	return runtime + g.draft.Bytes() + int64(z.Dtype().Size())*int64(arrays), nil
}

// mostPlanned is the largest number of inducing points, and of rows, whose step is planned. The matrices of so many points
// take terabytes.
const mostPlanned = 1 << 20

// plannedStep returns the graph of a natural-gradient step, made of zeros, with its layer and the number of outputs of
// the network. With fixed, Z stays where it is.
func plannedStep(net layers.Network, input []int, inducing, rows int, fixed bool) (g *inputsGraph, layer *Layer, outputs int, err error) {
	params := net.Params()
	if len(params) == 0 || inducing < 1 || rows < 1 || inducing > mostPlanned || rows > mostPlanned {
		return nil, nil, 0, fmt.Errorf("valla: %d parameters, %d inducing points and %d rows, expected at least 1, and at most %d points and rows", len(params), inducing, rows, mostPlanned)
	}
	dt := params[0].Value.Dtype()
	b := graph.NewBuilder(dt)
	out := net.Forward(b, b.Input("x", append([]int{1}, input...)...))
	if b.Err() != nil {
		return nil, nil, 0, b.Err()
	}
	outputs = out.Shape()[len(out.Shape())-1]
	z := tensor.New(tensor.Of(dt), tensor.WithShape(append([]int{inducing}, input...)...))
	layer, err = NewLayer(jacobian.NTK{Net: net}, z, dense.Cycle(inducing, outputs))
	if err != nil {
		return nil, nil, 0, err
	}
	n := &natural{fitting: &fitting{p: gp.Problem{Net: net}, s: Settings{FixInducing: fixed}, layer: layer}, outputs: outputs, width: 1, dt: dt}
	n.picks = n.newPicks(fewOutputs)
	g, err = n.inputsGraph(append(tensor.Shape{rows}, input...), rows, false)
	return g, layer, outputs, err
}
