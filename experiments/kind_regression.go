package experiments

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/sets"
	"github.com/go-valla/valla/experiments/result"
	"github.com/go-valla/valla/experiments/spec"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/train"
	"github.com/go-valla/valla/train/metric"
	"gorgonia.org/tensor"
)

// tableData is a data set of named numbers with one target.
type tableData struct{ sets.Set }

func (t tableData) load(_ context.Context, l loading) (*Problem, error) {
	p, err := t.Table(l.root, l.seed)
	if err != nil {
		return nil, err
	}
	return newRegression(l, parts{p.Train, p.Validation, p.Test})
}

// regression is a task in the units of its data; its problem is standardised by the
// training rows.
type regression struct {
	inputs, targets *data.Standardizer
	sets            parts
}

// newRegression returns the problem of a divided table.
func newRegression(l loading, sets parts) (*Problem, error) {
	sets = sets.holdout(l.validation, newRand(l.seed, 0))
	r := &regression{sets: sets}
	var err error
	if r.inputs, err = data.FitStandardizer(sets.train.X); err != nil {
		return nil, fmt.Errorf("%s: %w", l.name, err)
	}
	if r.targets, err = data.FitStandardizer(sets.train.Y); err != nil {
		return nil, fmt.Errorf("%s: %w", l.name, err)
	}
	p := &Problem{Data: l.name, Dtype: l.dtype, Task: r}
	if p.Train, err = r.examples(sets.train, l.dtype); err != nil {
		return nil, fmt.Errorf("%s: %w", l.name, err)
	}
	if sets.validation == nil {
		return p, nil
	}
	held, err := r.examples(sets.validation, l.dtype)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.name, err)
	}
	held = held.first(maxValidation)
	p.Validation = &held
	return p, nil
}

// maxValidation bounds the rows that are validated with, which is done often.
const maxValidation = 10_000

// first is the first n examples, or all.
func (e Examples) first(n int) Examples {
	if e.N() <= n {
		return e
	}
	return Examples{data.TakeRows(e.X, iota(n)), data.TakeRows(e.Y, iota(n))}
}

// examples standardises a set.
func (r *regression) examples(s *data.Set, dt tensor.Dtype) (Examples, error) {
	x, err := r.inputs.Apply(s.X)
	if err != nil {
		return Examples{}, err
	}
	y, err := r.targets.Apply(s.Y)
	if err != nil {
		return Examples{}, err
	}
	return Examples{graph.Convert(x, dt), graph.Convert(y, dt)}, nil
}

func (*regression) Outputs() int { return 1 }

func (*regression) Loss() train.Loss { return train.SquaredError }

func (*regression) Laplace() laplace.Likelihood { return laplace.Gaussian }

func (*regression) Likelihood(noise float64, dt tensor.Dtype) likelihood.Likelihood {
	return likelihood.NewGaussian(noise, dt)
}

// maxCentred bounds the rows of which k-means takes the centres.
const maxCentred = 50_000

func (*regression) Inducing(t Examples, m int, rng *rand.Rand) (*tensor.Dense, []int, error) {
	z, err := data.KMeans(graph.Convert(someRows(t.X, maxCentred, rng), tensor.Float64), m, data.RandomPoints, rng)
	if err != nil {
		return nil, nil, fmt.Errorf("inducing points: %w", err)
	}
	return z, make([]int, m), nil
}

func (*regression) NLL(g gp.Gaussian, noise float64, e Examples) (float64, error) {
	sum, y := 0.0, graph.Floats(e.Y)
	for i, mean := range g.Mean.Float64s() {
		sum += metric.GaussianNLL(mean, g.Cov.Float64s()[i]+noise, y[i])
	}
	return sum / float64(len(y)), nil
}

// meanSquared is the mean squared residual, standardised.
func (*regression) meanSquared(g gp.Gaussian, e Examples) float64 {
	sum, y := 0.0, graph.Floats(e.Y)
	for i, mean := range g.Mean.Float64s() {
		sum += (y[i] - mean) * (y[i] - mean)
	}
	return sum / float64(len(y))
}

// predict returns means and variances of y, and variances of the latent function, at
// inputs in the units of the data, in those of the targets.
func (r *regression) predict(ctx context.Context, p *Problem, f *Fitted, x *tensor.Dense) (mean, variance, latent []float64, err error) {
	z, err := r.inputs.Apply(x)
	if err != nil {
		return nil, nil, nil, err
	}
	g, err := f.Posterior.Predict(ctx, graph.Convert(z, p.Dtype))
	if err != nil {
		return nil, nil, nil, err
	}
	shift, scale := r.targets.Mean[0], r.targets.Std[0]
	mean, latent = graph.Floats(g.Mean), graph.Floats(g.Cov)
	variance = make([]float64, len(mean))
	for i := range mean {
		mean[i] = mean[i]*scale + shift
		variance[i] = (latent[i] + f.Noise) * scale * scale
		latent[i] *= scale * scale
	}
	return mean, variance, latent, nil
}

// noiseStd is the standard deviation of the noise in the units of the targets.
func (r *regression) noiseStd(f *Fitted) float64 { return math.Sqrt(f.Noise) * r.targets.Std[0] }

// Score fills in NLL, RMSE, CRPS and CQM in the units of the target, and coverages; for
// one input, also a band along it.
func (r *regression) Score(ctx context.Context, p *Problem, f *Fitted, _ spec.Scoring, c *result.Cell) error {
	mean, variance, _, err := r.predict(ctx, p, f, r.sets.test.X)
	if err != nil {
		return err
	}
	var m metric.Regression
	if err := m.Add(mean, variance, r.sets.test.Y.Float64s()); err != nil {
		return err
	}
	s, err := m.Result()
	if err != nil {
		return err
	}
	c.N = s.N
	c.Scores = map[string]result.Scores{"": {
		"NLL": result.Number(s.NLL), "RMSE": result.Number(s.RMSE), "CRPS": result.Number(s.CRPS), "CQM": result.Number(s.CQM),
	}}
	c.Curves.Coverage = s.Coverage[:]
	c.Facts.NoiseStd = result.Number(r.noiseStd(f))
	if p.Train.X.Shape()[1] == 1 {
		c.Curves.Band, err = r.band(ctx, p, f)
	}
	return err
}
