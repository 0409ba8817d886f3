package valla

import (
	"cmp"
	"context"
	"fmt"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// Fit trains a layer by Adam, as published, on a network whose weights stay as they are.
type Fit struct {
	Net        layers.Network
	Layer      *Layer
	Likelihood likelihood.Likelihood
	Alpha      *float64 // see Objective

	// FixInducing keeps Z at its start values, FixPrior keeps σ₀, and FixLikelihood keeps
	// the likelihood's parameters.
	FixInducing, FixPrior, FixLikelihood bool

	BatchSize int    // 0 means 100, the published setting
	Seed      uint64 // of the mini-batches
	// MemoryLimit is the largest number of bytes that a step may need (see [Fit.Plan]). The
	// validation may need a quarter as many in addition. 0 means no limit. A mini-batch that
	// needs more is computed in parts.
	MemoryLimit int64

	// ValidationX [n,…] and ValidationY [n,C] are examples held out. If there are any,
	// Config.Validate is their mean negative log predictive density.
	ValidationX, ValidationY *tensor.Dense
	// Config configures the training loop. The published setting is 40,000 iterations of
	// Adam with its default learning rate of 1e-3.
	Config train.Config
}

// Run minimises the objective over inputs x [N,…] and targets y [N,C] of the
// network's element type, changing the layer's parameters in place. Where a number is not
// finite or a matrix has no factor, the error says at which iteration and what the
// parameters were.
func (f Fit) Run(ctx context.Context, x, y *tensor.Dense) (*train.Result, error) {
	return f.RunOn(ctx, train.Rows{All: x}, y)
}

// RunOn is Run for any source of inputs.
func (f Fit) RunOn(ctx context.Context, x train.Source, y *tensor.Dense) (*train.Result, error) {
	obj, err := f.Objective(x, y)
	if err != nil {
		return nil, err
	}
	if f.ValidationX != nil {
		if f.Config.Validate != nil {
			return nil, fmt.Errorf("valla: validation examples and Config.Validate, expected one of them")
		}
		post := NewPosterior(f.Net, f.Layer)
		if f.MemoryLimit > 0 {
			post.LimitMemory(f.MemoryLimit / 4)
		}
		f.Config.Validate = post.ValidateNLL(f.Likelihood, f.ValidationX, f.ValidationY)
	}
	return train.Run(ctx, obj, f.Config)
}

// Objective builds the graph that Run trains: the network, the layer and the loss.
func (f Fit) Objective(x train.Source, y *tensor.Dense) (*train.Graph, error) {
	if err := checkHeld(f.Layer.Z.Value.Dtype(), f.ValidationX, f.ValidationY); err != nil {
		return nil, fmt.Errorf("valla: %w", err)
	}
	f.BatchSize = min(cmp.Or(f.BatchSize, 100), y.Shape()[0])
	size := f.BatchSize
	if f.MemoryLimit > 0 {
		var err error
		if size, _, err = f.Plan(x.Shape(), y.Shape()); err != nil {
			return nil, err
		}
	}
	b := graph.NewBuilder(f.Layer.Z.Value.Dtype())
	batches, err := train.NewBatchesOf(b, x, y, f.BatchSize, f.BatchSize/size, f.Seed)
	if err != nil {
		return nil, fmt.Errorf("valla: %w", err)
	}
	loss := f.loss(b, batches.X(), batches.Y(), y.Shape()[0])
	if err := b.Err(); err != nil {
		return nil, fmt.Errorf("valla: %w", err)
	}
	g, err := train.NewGraph(b, loss, f.params(), batches)
	if err != nil {
		return nil, err
	}
	g.Identify(layerIdentity(f.Net, f.Layer, f.Alpha, f.FixInducing, f.FixPrior)...)
	g.Identify(likelihoodIdentity(f.Likelihood, f.FixLikelihood))
	g.Identify(heldIdentity(f.ValidationX, f.ValidationY)...)
	return g, nil
}

// loss writes the objective for n training points.
func (f Fit) loss(b *graph.Builder, x, y *graph.Node, n int) *graph.Node {
	mean := f.Net.Forward(b, x)
	l := f.Layer.Loss(b, x, y, mean, Objective{Likelihood: f.Likelihood, Alpha: f.Alpha, N: n})
	if b.Err() != nil {
		return nil
	}
	return l.Loss
}

// Plan predicts what a step needs on inputs of shape [N,…] with targets [N,C]: the
// examples that are computed at a time and the peak of memory in bytes, the data set
// itself not counted. It is a *graph.MemoryError if one example at a time still needs
// more than MemoryLimit.
func (f Fit) Plan(inputs, targets tensor.Shape) (size int, bytes int64, err error) {
	f.BatchSize = min(cmp.Or(f.BatchSize, 100), targets[0])
	what := fmt.Sprintf("valla: a step with %d inducing points", f.Layer.Inducing())
	return graph.Tile(what, f.BatchSize, f.MemoryLimit, func(size int) (int64, error) {
		return f.stepBytes(size, inputs, targets)
	})
}

// stepBytes is the memory of a step on size examples at a time: that of the program and of
// the arrays beside it.
func (f Fit) stepBytes(size int, inputs, targets tensor.Shape) (int64, error) {
	b := graph.NewBuilder(f.Layer.Z.Value.Dtype())
	x := b.Input("x", append([]int{size}, inputs[1:]...)...)
	y := b.Input("y", append([]int{size}, targets[1:]...)...)
	loss, varying := f.loss(b, x, y, targets[0]), []*graph.Node{x, y}
	for _, p := range f.params() {
		varying = append(varying, b.Param(p))
	}
	if b.Err() != nil {
		return 0, b.Err()
	}
	outputs := append(graph.Grad(b, loss, varying[2:]...), loss)
	program, err := graph.Plan(b, outputs, graph.Options{Varying: varying})
	if err != nil {
		return 0, err
	}
	arrays := varying[0].Shape().TotalSize()
	for _, n := range varying[2:] {
		arrays += copiesTrained * n.Shape().TotalSize()
	}
	return runtimeBytes + int64(program) + int64(b.Dtype().Size())*int64(arrays+layers.Count(f.Net)), nil
}

const (
	// copiesTrained of each trained array exist: its values, its sum of gradients, two
	// moments of Adam, its best values.
	copiesTrained = 5
	// runtimeBytes is what any program takes, and what kernels use as a workspace.
	runtimeBytes = 64 << 20
)

// params lists what is trained.
func (f Fit) params() []*graph.Param {
	var params []*graph.Param
	if !f.FixInducing {
		params = append(params, f.Layer.Z)
	}
	params = append(params, f.Layer.L)
	if !f.FixPrior {
		params = append(params, f.Layer.LogPriorStd)
	}
	if !f.FixLikelihood {
		params = append(params, f.Likelihood.Params()...)
	}
	return params
}
