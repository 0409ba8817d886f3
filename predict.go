package valla

import (
	"context"
	"fmt"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/settings"
)

// PredictOptions say how predictions are made. The zero value is ready to use.
type PredictOptions = task.PredictOptions

// Prediction is the predictive distribution at N inputs, in the units of the data.
type Prediction = task.Prediction

// Link says how class probabilities are computed, see [PredictOptions].
type Link = task.Link

// Scores are the scores of predictions for a set.
type Scores = task.Scores

// The links, see [PredictOptions].
const (
	Probit     = task.Probit
	MonteCarlo = task.MonteCarlo
	Bridge     = task.Bridge
	Own        = task.Own
)

// Predict returns the prediction at the inputs x [N,…], which are in the units of the data. The
// columns of x are in the order of the model's features; [Model.Columns] takes them from a
// table. Predict returns ctx's error if ctx ends first. An input or a prediction that is not
// finite, or a variance that is not positive, is an error that names the row. Several
// goroutines must not call it at once, because posteriors keep their buffers between calls:
// they share a [Predictor].
func (m *Model) Predict(ctx context.Context, x *tensor.Dense, o PredictOptions) (*Prediction, error) {
	in, err := m.Task.Inputs.Apply(x, m.Dtype())
	if err != nil {
		return nil, fmt.Errorf("predict: %w", err)
	}
	p, err := m.predict(ctx, in, o, nil)
	if err != nil {
		return nil, fmt.Errorf("predict: %w", err)
	}
	return p, nil
}

// predict is Predict for inputs as the network takes them. It calls seen, if that is not nil,
// with each part of the latent distribution.
func (m *Model) predict(ctx context.Context, in *tensor.Dense, o PredictOptions, seen func(gp.Gaussian)) (*Prediction, error) {
	all, first := &Prediction{}, o.First
	err := gp.InBatches(ctx, m.gp(), in, m.Task.Outputs.Size(), func(row int, g gp.Gaussian) error {
		o.First = first + row
		p := new(Prediction)
		if err := m.Fill(ctx, g.Latents(), o, p); err != nil {
			return err
		}
		if seen != nil {
			seen(g)
		}
		all.Append(p)
		if o.OnRows != nil {
			o.OnRows(all.N(), in.Shape()[0])
		}
		return nil
	})
	return all, err
}

// Fill turns distributions of the network's outputs, those of [Model.Latent] or of
// [Predictor.Latents], into a prediction p, whose slices are used again where they are long
// enough. Several goroutines may call it at once.
func (m *Model) Fill(ctx context.Context, g gp.Latents, o PredictOptions, p *Prediction) error {
	if err := m.Task.Outputs.Fill(ctx, g, m.NoiseVariance(), o, p); err != nil || m.Calibration == nil {
		return err
	}
	p.Conformal = m.Calibration.Conformal
	if c := p.Conformal; c != nil && c.Link != string(p.Link) {
		return settings.Errorf("the link is %q, but the conformal calibration was made with %q: expected the same", p.Link, c.Link)
	}
	return nil
}

// Latent returns the distribution of the network's outputs at the inputs x [N,…], without
// noise. The inputs are in the units of the data, the outputs in those of the network. Memory for
// C outputs grows with N·C², unlike that of [Model.Predict].
func (m *Model) Latent(ctx context.Context, x *tensor.Dense) (gp.Gaussian, error) {
	in, err := m.Task.Inputs.Apply(x, m.Dtype())
	if err != nil {
		return gp.Gaussian{}, fmt.Errorf("predict: %w", err)
	}
	g, err := m.gp().Predict(ctx, in)
	if err != nil {
		return gp.Gaussian{}, fmt.Errorf("predict: %w", err)
	}
	return g, nil
}

// Evaluate returns the scores of the predictions for a set.
func (m *Model) Evaluate(ctx context.Context, set *data.Set, o PredictOptions) (Scores, error) {
	if err := m.Task.CheckSet(set); err != nil {
		return Scores{}, fmt.Errorf("evaluate: %w", err)
	}
	p, err := m.Predict(ctx, set.X, o)
	if err != nil {
		return Scores{}, fmt.Errorf("evaluate: %w", err)
	}
	s, err := m.Task.Outputs.Score(p, set.Y)
	if err != nil {
		return Scores{}, fmt.Errorf("evaluate: %w", err)
	}
	return s, nil
}
