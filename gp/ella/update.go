package ella

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/jacobian"
)

// Update implements gp.Updater: G is a sum over rows, to which those of the new ones are
// added. The directions and σ₀ stay. A posterior of early stopping is an error: its prior is
// in proportion to the rows that were seen.
func (p *Posterior) Update(ctx context.Context, more gp.Problem, r gp.Run) (gp.Stored, error) {
	if err := more.Check(); err != nil {
		return nil, err
	}
	if err := checkOutputs(more); err != nil {
		return nil, err
	}
	if p.share != 1 {
		return nil, fmt.Errorf("ella: early stopping has seen %.3g of the rows and weighs the prior by that; rows can be added to a fit without it", p.share)
	}
	q := &Posterior{
		net: p.net, input: p.input, v: p.v, g: slices.Clone(p.g), prior: p.prior, share: p.share,
		points: p.points, at: p.at, limit: cmp.Or(r.Memory, p.limit),
	}
	var err error
	if q.features, err = jacobian.NewDirectional(q.net, q.input, q.v, PredictBatch, q.limit-dense.Bytes(q.v)); err != nil {
		return nil, err
	}
	sums, n := &curvature{k: q.Rank(), g: q.g, lik: more.Likelihood}, more.Train.N()
	err = q.features.Each(ctx, more.Train.X, func(first int, mean, phi []float64) error {
		sums.add(mean, phi, q.features.Outputs())
		if v := kernel.Sum(q.g); !kernel.Finite(v) {
			return fmt.Errorf("the curvature is not finite: the sum of its elements is %g", v)
		}
		r.Tell(unitRows)(first+len(mean)/q.features.Outputs(), n)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ella: new rows: %w", err)
	}
	return q, q.finish()
}
