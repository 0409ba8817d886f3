package valla

import (
	"context"
	"math"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/kernel"
)

const (
	usualShare = 0.99 // share of the rows whose spread is usual
	usualRows  = 500  // most rows that are used
)

// UsualSpread returns the spread that 99 % of the training rows do not exceed, as the last fit found it. The
// spread at an input is the root of the mean of the outputs' latent variances. UsualSpread is 0 without a
// posterior, or where the file does not have it. Many rows above it are a sign that the data have changed since
// the training.
func (m *Model) UsualSpread() float64 {
	if n := len(m.History); m.Posterior != nil && n > 0 {
		return m.History[n-1].UsualSpread
	}
	return 0
}

// usualSpread computes the UsualSpread from some of the training rows: a share of usualRows at most.
func (m *Model) usualSpread(ctx context.Context, train *data.Set, share float64) (float64, error) {
	rows := int(math.Ceil(share * usualRows))
	in, err := m.Task.Inputs.Apply(train.Rows(holdout.Spaced(train.N(), rows)).X, m.Dtype())
	if err != nil {
		return 0, err
	}
	c := m.Task.Size()
	var all []float64
	_, err = m.predict(ctx, in, PredictOptions{}, func(g gp.Gaussian) {
		for v := range slices.Chunk(g.Cov, c*c) {
			all = append(all, kernel.Spread(v, c))
		}
	})
	if err != nil {
		return 0, err
	}
	slices.Sort(all)
	return all[int(usualShare*float64(len(all)-1)+0.5)], nil
}
