package model

import (
	"context"
	"fmt"
	"math"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/train/metric"
)

// Prediction is a Gaussian for y at each of N inputs, in the units of the data.
type Prediction struct {
	Mean     []float64 // N
	Variance []float64 // N, of y: that of the latent function plus the noise
	Latent   []float64 // N, of the latent function; 0 without a posterior
}

// Std returns the standard deviation of y, [N].
func (p *Prediction) Std() []float64 {
	std := make([]float64, len(p.Variance))
	for i, v := range p.Variance {
		std[i] = math.Sqrt(v)
	}
	return std
}

// Interval returns the bounds, [N] each, of the central interval that holds y with
// probability level, 0 < level < 1.
func (p *Prediction) Interval(level float64) (lower, upper []float64, err error) {
	if !(level > 0 && level < 1) {
		return nil, nil, fmt.Errorf("%w: level %g, expected a probability between 0 and 1", ErrOption, level)
	}
	z := math.Sqrt2 * math.Erfinv(level) // Φ⁻¹(½ + level/2)
	lower, upper = p.Std(), make([]float64, len(p.Mean))
	for i, s := range lower {
		lower[i], upper[i] = p.Mean[i]-z*s, p.Mean[i]+z*s
	}
	return lower, upper, nil
}

// Predict returns the prediction at x [N,D], in the units of the data, columns in the
// order of Features; [Model.Columns] takes them from a table. It returns ctx's error
// if ctx ends first. A prediction that is not finite, or a variance that is not
// positive, is an error that names the row.
func (m *Model) Predict(ctx context.Context, x *tensor.Dense) (*Prediction, error) {
	if m.Classes != nil {
		return nil, fmt.Errorf("predict: the target %q has classes, not numbers", m.Target)
	}
	g, err := m.latent(ctx, x)
	if err != nil {
		return nil, err
	}
	return m.inUnits(g)
}

// latent returns the distribution of the latent function at x [N,D], in the units of
// the data, itself in standardised units.
func (m *Model) latent(ctx context.Context, x *tensor.Dense) (gp.Gaussian, error) {
	z, err := m.Inputs.Apply(x)
	if err != nil {
		return gp.Gaussian{}, fmt.Errorf("predict: %w", err)
	}
	for i, v := range z.Float64s() {
		if !finite(v) {
			return gp.Gaussian{}, fmt.Errorf("predict: row %d (counting from 0), feature %q: expected a finite number, found %g",
				i/len(m.Features), m.Features[i%len(m.Features)], x.Float64s()[i])
		}
	}
	g, err := m.gp().Predict(ctx, graph.Convert(z, m.Dtype()))
	if err != nil {
		return gp.Gaussian{}, fmt.Errorf("predict: %w", err)
	}
	return g, nil
}

// inUnits adds the noise and undoes the standardisation.
func (m *Model) inUnits(g gp.Gaussian) (*Prediction, error) {
	mean, latent := g.Mean.Float64s(), g.Cov.Float64s()
	p := &Prediction{Mean: make([]float64, len(mean)), Variance: make([]float64, len(mean)), Latent: make([]float64, len(mean))}
	shift, scale := m.Targets.Mean[0], m.Targets.Std[0]
	for i := range mean {
		p.Mean[i] = mean[i]*scale + shift
		p.Latent[i] = latent[i] * scale * scale
		p.Variance[i] = (latent[i] + m.Noise) * scale * scale
		if !finite(p.Mean[i]) || !positive(p.Variance[i]) {
			return nil, fmt.Errorf("predict: row %d (counting from 0): mean %g, variance %g, expected a finite mean and a positive variance",
				i, p.Mean[i], p.Variance[i])
		}
	}
	return p, nil
}

// Evaluate returns the scores of the predictions for a set, in the units of the data.
func (m *Model) Evaluate(ctx context.Context, set *data.Set) (metric.RegressionScores, error) {
	if err := m.checkSet(set); err != nil {
		return metric.RegressionScores{}, fmt.Errorf("evaluate: %w", err)
	}
	p, err := m.Predict(ctx, set.X)
	if err != nil {
		return metric.RegressionScores{}, fmt.Errorf("evaluate: %w", err)
	}
	var r metric.Regression
	if err := r.Add(p.Mean, p.Variance, set.Y.Float64s()); err != nil {
		return metric.RegressionScores{}, fmt.Errorf("evaluate: %w", err)
	}
	return r.Result()
}
