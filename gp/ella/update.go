package ella

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
)

// Update implements gp.Updater: G is a sum over rows, to which the terms of the new rows are
// added. The directions and σ₀ stay. A posterior of early stopping is an error: its prior is
// in proportion to the rows that were seen.
func (p *posterior) Update(ctx context.Context, more gp.Problem, r gp.Run) (gp.Stored, error) {
	if err := more.Check(); err != nil {
		return nil, err
	}
	if err := checkOutputs(more); err != nil {
		return nil, err
	}
	if p.share != 1 {
		return nil, fmt.Errorf("ella: early stopping has seen %.3g of the rows and weighs the prior by that; rows can be added to a fit without it", p.share)
	}
	q, err := p.again(r)
	if err != nil {
		return nil, err
	}
	q.g = slices.Clone(p.g)
	sums, seen := &curvature{k: q.Rank(), g: q.g, lik: more.Likelihood}, 0
	err = sums.addRows(ctx, q.Features, more.Train, func(n int) {
		seen += n
		r.Tell(unitRows)(seen, more.Train.N())
	})
	if err != nil {
		return nil, fmt.Errorf("ella: new rows: %w", err)
	}
	return q, q.finish()
}

// again returns a posterior with the directions and the prior of p, without rows. Run.Memory 0
// means the limit of p.
func (p *posterior) again(r gp.Run) (*posterior, error) {
	q := &posterior{
		Posterior: inDirections(p.Net, p.Input, p.V, cmp.Or(r.Memory, p.Limit)),
		prior:     p.prior, share: p.share, points: p.points, at: p.at,
	}
	return q, q.Prepare()
}
