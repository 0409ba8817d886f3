package runner

import (
	"context"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/graph"
)

// Band returns the predictions of a model of one input along a grid, with the data. held may
// be nil.
func Band(ctx context.Context, m *valla.Model, train, held *data.Set) (*result.Band, error) {
	b := &result.Band{X: train.X.Float64s(), Y: train.Y.Float64s()}
	if held != nil {
		b.HeldX, b.HeldY = held.X.Float64s(), held.Y.Float64s()
	}
	b.Grid = around(slices.Concat(b.X, b.HeldX), 0.2, 300)
	p, err := m.Predict(ctx, tensor.New(tensor.WithShape(len(b.Grid), 1), tensor.WithBacking(slices.Clone(b.Grid))), valla.PredictOptions{})
	if err != nil {
		return nil, err
	}
	b.Mean, b.Std, b.Latent = p.Mean, p.Std(), p.LatentStd()
	if m.Posterior == nil {
		return b, nil
	}
	if s, ok := m.Posterior.Stored.(interface {
		InducingInputs() (start, now *tensor.Dense)
	}); ok {
		start, now := s.InducingInputs()
		b.After = inUnits(m.Task.Inputs, graph.Floats(now))
		if start != nil {
			b.Before = inUnits(m.Task.Inputs, graph.Floats(start))
		}
	}
	return b, nil
}

// around returns a grid of n points. It covers the range of x and a fraction of that range on
// either side.
func around(x []float64, fraction float64, n int) []float64 {
	low, high := slices.Min(x), slices.Max(x)
	room := fraction * (high - low)
	out := make([]float64, n)
	for i := range out {
		out[i] = low - room + (high-low+2*room)*float64(i)/float64(n-1)
	}
	return out
}
