package valla

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/train"
	"github.com/go-valla/valla/train/metric"
)

// Quantiles is a network of two outputs, the quantiles of a target below which lie (1 − level)/2 and (1 + level)/2 of the
// targets. It has intervals, and no distribution. After [Quantiles.Conform] they are those of conformalized quantile
// regression (Romano, Patterson and Candès 2019, arXiv:1905.03222).
type Quantiles struct {
	level  float64
	model  *Model  // with the two outputs
	margin float64 // by which the intervals are wider on each side, in the network's units; below 0: narrower
}

// Quantiles trains a network for intervals of a level on the table on which the network of m was trained. It has the form of
// this network, or of one network of an ensemble, with a second output, and its training has the settings and the held-out rows
// that the history of m tells, with the pinball loss in place of the squared error; steps and a weight decay that rows have chosen
// are chosen anew. A network that [Model.Trained] refuses, classes, and several targets are an error.
func (m *Model) Quantiles(ctx context.Context, set *data.Set, level float64, report func(train.Progress)) (_ *Quantiles, err error) {
	defer explain("quantiles", &err)
	m = m.MAP()
	o, err := m.Trained()
	switch {
	case err != nil:
		return nil, err
	case !(level > 0 && level < 1):
		return nil, settings.Errorf("level %g, expected a probability between 0 and 1", level)
	case !m.Task.Gaussian() || m.Task.Size() != 1:
		return nil, fmt.Errorf("intervals of %s of %d targets, expected a regression of one target", m.Task.Kind(), m.Task.Size())
	}
	o.NoiseHead, o.Training.Networks, o.head, o.OnProgress = "", 1, pinballHead(level), report
	t, err := newTraining(set, o)
	if err != nil {
		return nil, err
	}
	if _, err = t.run(ctx); err != nil {
		return nil, err
	}
	return &Quantiles{level: level, model: t.model}, nil
}

// pinballHead learns the two bounds of an interval by the sum of their pinball losses.
func pinballHead(level float64) *head {
	low, high := (1-level)/2, (1+level)/2
	pinball := func(b *graph.Builder, of float64, y, q *graph.Node) *graph.Node {
		u := b.Sub(y, q)
		return b.Add(b.Scale(u, of), b.ReLU(b.Neg(u)))
	}
	return &head{
		name: fmt.Sprintf("quantiles of the level %g", level),
		node: func(b *graph.Builder, y, lower, upper *graph.Node) *graph.Node {
			return b.Add(pinball(b, low, y, lower), pinball(b, high, y, upper))
		},
		one: func(y, lower, upper float64) float64 {
			return metric.Pinball(low, lower, y) + metric.Pinball(high, upper, y)
		},
	}
}

// Conform returns q with the intervals of rows that the training has not seen: a new row from the same distribution lies in its
// interval with a probability of at least the level. Too few rows are an error.
func (q *Quantiles) Conform(ctx context.Context, set *data.Set) (*Quantiles, error) {
	e, err := q.model.Task.Examples(set, q.model.Dtype())
	if err != nil {
		return nil, fmt.Errorf("quantiles: %w", err)
	}
	lower, upper, err := q.bounds(ctx, e.X)
	if err != nil {
		return nil, fmt.Errorf("quantiles: %w", err)
	}
	scores := graph.Floats(e.Y)
	for i, y := range scores {
		scores[i] = max(lower[i]-y, y-upper[i])
	}
	slices.Sort(scores)
	own := *q
	if own.margin, err = (&calibrate.Conformal{Rows: len(scores), Scores: scores}).Quantile(0, q.level); err != nil {
		return nil, fmt.Errorf("quantiles: %w", err)
	}
	return &own, nil
}

// Intervals returns the bounds of the intervals [N] at inputs x [N,…] in the units of the data. The lower bound is never above
// the upper one.
func (q *Quantiles) Intervals(ctx context.Context, x *tensor.Dense) (lower, upper []float64, err error) {
	in, err := q.model.Task.Inputs.Apply(x, q.model.Dtype())
	if err != nil {
		return nil, nil, fmt.Errorf("quantiles: %w", err)
	}
	if lower, upper, err = q.bounds(ctx, in); err != nil {
		return nil, nil, fmt.Errorf("quantiles: %w", err)
	}
	for i := range lower {
		by := max(q.margin, (lower[i]-upper[i])/2) // an interval that becomes narrower ends as its middle
		lower[i], upper[i] = lower[i]-by, upper[i]+by
	}
	if lower, err = q.inUnits(lower); err == nil {
		upper, err = q.inUnits(upper)
	}
	return lower, upper, err
}

// bounds returns the bounds [N] that the network gives, in its units and in their order.
func (q *Quantiles) bounds(ctx context.Context, x *tensor.Dense) (lower, upper []float64, err error) {
	f, err := q.model.outputs(ctx, x)
	for i := 0; i < len(f); i += 2 {
		lower, upper = append(lower, math.Min(f[i], f[i+1])), append(upper, math.Max(f[i], f[i+1]))
	}
	return lower, upper, err
}

// inUnits returns targets [N] in the units of the data.
func (q *Quantiles) inUnits(v []float64) ([]float64, error) {
	y, err := q.model.Task.TargetsOf(gp.Examples{Y: tensor.New(tensor.WithShape(len(v), 1), tensor.WithBacking(v))})
	if err != nil {
		return nil, err
	}
	return y.Float64s(), nil
}
