package valla

import (
	"context"
	"math"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
)

// Spread is the root of the mean of the variances in a covariance [C,C]: how far the outputs
// of the network are from certain at one input.
func Spread(cov []float64, c int) float64 {
	sum := 0.0
	for k := range c {
		sum += max(cov[k*c+k], 0)
	}
	return math.Sqrt(sum / float64(c))
}

const (
	usualShare = 0.99
	usualRows  = 500 // of which the share is taken, at most
)

// UsualSpread returns the [Spread] that 99 % of the training rows do not exceed, as the last
// fit found it; 0 without a posterior, or from a file that does not say. Many rows above it
// are a sign that the data are no longer those of the training.
func (m *Model) UsualSpread() float64 {
	if n := len(m.History); m.Posterior != nil && n > 0 {
		return m.History[n-1].UsualSpread
	}
	return 0
}

// usualSpread finds the UsualSpread on some of the training rows, a share of usualRows at most.
func (m *Model) usualSpread(ctx context.Context, train *data.Set, share float64) (float64, error) {
	rows := int(math.Ceil(share * usualRows))
	in, err := m.Task.Inputs.Apply(train.Rows(some(train.N(), rows)).X, m.Dtype())
	if err != nil {
		return 0, err
	}
	c := m.Task.Outputs.Size()
	var all []float64
	_, err = m.predict(ctx, in, PredictOptions{}, func(g gp.Gaussian) {
		for v := range slices.Chunk(g.Cov, c*c) {
			all = append(all, Spread(v, c))
		}
	})
	if err != nil {
		return 0, err
	}
	slices.Sort(all)
	return all[int(usualShare*float64(len(all)-1)+0.5)], nil
}
