package valla

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
)

// Update implements gp.Updater. With Gaussian noise and α = 0 the objective is the evidence
// lower bound, whose best A is a sum over rows (paper, Prop. 2). The terms of the new rows
// are added to this sum, see addRows. Z, σ₀ and the noise stay. With another α what a row counts
// depends on all others, and with any other likelihood on the posterior, so that rows cannot be added
// exactly; that is an error.
func (p *posterior) Update(ctx context.Context, more gp.Problem, r gp.Run) (gp.Stored, error) {
	if err := more.Check(); err != nil {
		return nil, err
	}
	if !p.additive || !likelihood.IsGaussian(more.Likelihood) {
		return nil, errors.New("valla: rows can be added exactly to a regression with alpha=0 alone, where A is a sum over rows; fits of sfr and gp-subset take rows, and those of ella without early stopping and of lla without structure=lowrank")
	}
	if _, _, err := gp.CheckInputs(more.Net, more.Train.X.Shape()[1:], more.Outputs()); err != nil {
		return nil, fmt.Errorf("valla: %w", err)
	}
	from := p.layer
	l, err := layerOf(from.Kernel, from.Z.Value, from.Class, graph.NewParam(nameL, from.L.Floats(), more.Dtype(), from.L.Value.Shape()...).Value, from.LogPriorStd.Value)
	if err != nil {
		return nil, err
	}
	limit := r.Limit()
	if _, err := l.addRows(ctx, more.Train.X, likelihood.NoiseVariance(more.Likelihood), limit, func(done int) {
		r.Tell("rows")(done, more.Train.N())
	}); err != nil {
		return nil, err
	}
	q := newPosterior(p.net, l)
	q.additive, q.start = true, p.start
	q.limit, q.firm = limit, p.firm || r.Memory > 0
	return q, nil
}
