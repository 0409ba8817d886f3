package valla

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// Fit trains a layer on a network whose weights stay as they are.
type Fit struct {
	Net        layers.Network
	Layer      *Layer
	Likelihood likelihood.Likelihood
	Alpha      float64 // see Objective

	// FixPrior keeps σ₀, FixLikelihood the likelihood's parameters, as they are.
	FixPrior, FixLikelihood bool

	BatchSize int    // 0 means 100, the published setting
	Seed      uint64 // of the mini-batches
	// Config is the training loop's. The published setting is 40,000 iterations of
	// Adam with its default step of 1e-3.
	Config train.Config
}

// Run minimises the objective over inputs x [N,…] and targets y [N,C] of the
// network's element type, changing the layer's parameters in place. On a failure of
// the numbers the error says at which iteration and what the parameters were.
func (f Fit) Run(ctx context.Context, x, y *tensor.Dense) (*train.Result, error) {
	obj, err := f.Objective(x, y)
	if err != nil {
		return nil, err
	}
	return train.Run(ctx, obj, f.Config)
}

// Objective builds the graph that Run trains: the network, the layer and the loss.
func (f Fit) Objective(x, y *tensor.Dense) (*train.Graph, error) {
	if f.BatchSize == 0 {
		f.BatchSize = 100
	}
	b := graph.NewBuilder(x.Dtype())
	batches, err := train.NewBatches(b, x, y, f.BatchSize, f.Seed)
	if err != nil {
		return nil, fmt.Errorf("valla: %w", err)
	}
	mean := f.Net.Forward(b, batches.X())
	o := Objective{Likelihood: f.Likelihood, Alpha: f.Alpha, N: x.Shape()[0]}
	loss := f.Layer.Loss(b, batches.X(), batches.Y(), mean, o)
	if err := b.Err(); err != nil {
		return nil, fmt.Errorf("valla: %w", err)
	}
	g, err := train.NewGraph(b, loss.Loss, f.params(), batches)
	if err != nil {
		return nil, err
	}
	g.Identify("network with fingerprint "+layers.Fingerprint(f.Net), fmt.Sprintf("alpha %g", f.Alpha),
		fmt.Sprintf("classes %v", f.Layer.Class))
	return g, nil
}

// params lists what is trained.
func (f Fit) params() []*graph.Param {
	params := []*graph.Param{f.Layer.Z, f.Layer.L}
	if !f.FixPrior {
		params = append(params, f.Layer.LogPriorStd)
	}
	if !f.FixLikelihood {
		params = append(params, f.Likelihood.Params()...)
	}
	return params
}
