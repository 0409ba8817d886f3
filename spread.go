package valla

import (
	"context"
	"math"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/dense"
)

const (
	usualShare = 0.99 // share of the rows whose spread is usual
	usualRows  = 500  // most rows that are used
)

// UsualSpread returns the spread that 99 % of the training rows do not exceed, as the last fit found it. The
// spread at an input is the root of the mean of the outputs' latent variances. UsualSpread is 0 without a
// posterior, or where the file does not have it, and after [Model.Update], or [Model.Refit] without held-out rows: the posterior has changed, and its training rows are not there. Many rows above it are a sign that the data have changed since
// the training.
func (m *Model) UsualSpread() float64 {
	if n := len(m.History); m.Posterior != nil && n > 0 {
		return m.History[n-1].UsualSpread
	}
	return 0
}

// spreads are the quantiles of the spreads of the training rows for the probabilities 0, 0.01 … 1, as the last fit found
// them; nil if they are not known.
func (m *Model) spreads() []float64 {
	if n := len(m.History); m.Posterior != nil && n > 0 && len(m.History[n-1].Spreads) == spreadSteps+1 {
		return m.History[n-1].Spreads
	}
	return nil
}

// scaledSpreads returns the usual spread and the quantiles of spreads after a calibration that multiplies all spreads by a number.
func (m *Model) scaledSpreads(by float64) (usual float64, all []float64) {
	for _, v := range m.spreads() {
		all = append(all, v*by)
	}
	return m.UsualSpread() * by, all
}

// spreadSteps is the number of steps between the quantiles of spreads.
const spreadSteps = 100

// familiarity appends the share of the training rows with a smaller spread to p, for each row of the latent distribution g.
// It leaves nil where the spreads are not known, even without rows, because this says which columns predictions have.
func (m *Model) familiarity(g gp.Gaussian, p *Prediction) {
	all := m.spreads()
	if all == nil {
		p.Unfamiliar = nil
		return
	}
	p.Unfamiliar = slices.Grow(p.Unfamiliar, max(1, g.N()))
	for i := range g.N() {
		p.Unfamiliar = append(p.Unfamiliar, shareBelow(all, g.Spread(i)))
	}
}

// shareBelow returns the share of a distribution with quantiles at equal steps that lies below v, linear between two quantiles.
func shareBelow(quantiles []float64, v float64) float64 {
	n := len(quantiles) - 1
	i, _ := slices.BinarySearch(quantiles, v)
	switch {
	case i == 0:
		return 0
	case i > n:
		return 1
	}
	return (float64(i-1) + (v-quantiles[i-1])/(quantiles[i]-quantiles[i-1])) / float64(n)
}

// spreadAt is the inverse of shareBelow: the largest spread of which at most a share lies below.
func spreadAt(quantiles []float64, share float64) float64 {
	n := float64(len(quantiles) - 1)
	i := int(share * n)
	if !(share < 1) {
		return math.MaxFloat64
	}
	return quantiles[i] + (share*n-float64(i))*(quantiles[i+1]-quantiles[i])
}

// setSpreads completes the event of a fit by the spreads of some of the training rows: a share of usualRows at most.
func (m *Model) setSpreads(ctx context.Context, e *Event, train *data.Set, share float64) error {
	rows := int(math.Ceil(share * usualRows))
	in, err := m.Task.Inputs.Apply(train.Rows(dense.Spaced(train.N(), rows)).X, m.Dtype())
	if err != nil {
		return err
	}
	var all []float64
	_, err = m.predict(ctx, in, PredictOptions{}, func(g gp.Gaussian) {
		for i := range g.N() {
			all = append(all, g.Spread(i))
		}
	})
	if err != nil {
		return err
	}
	slices.Sort(all)
	e.UsualSpread = all[int(usualShare*float64(len(all)-1)+0.5)]
	e.Spreads = make([]float64, spreadSteps+1)
	for k := range e.Spreads {
		e.Spreads[k] = all[k*(len(all)-1)/spreadSteps]
	}
	return nil
}
