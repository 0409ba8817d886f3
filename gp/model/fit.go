package model

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/train"
)

const (
	// checkpointEvery is how many iterations lie between two checkpoints.
	checkpointEvery = 500
	// maxKMeans bounds the rows that the inducing points are found from.
	maxKMeans = 20_000
)

// Fit returns the model with a VaLLA posterior, fitted on a set; weights and mean stay
// as they are, and a posterior that m has is not used. A fraction of the rows is held out
// and the state of the smallest validation NLL is restored, looked at every 100 iterations
// or, with natural gradients, after every twentieth of them.
//
// Where ctx ends the model of the best state so far comes with an error that wraps
// ctx's. On every other error the model is nil.
func Fit(ctx context.Context, m *Model, set *data.Set, o FitOptions) (*Model, *train.Result, error) {
	f, err := newFitting(m, set, o)
	if err != nil {
		return nil, nil, fmt.Errorf("fit: %w", err)
	}
	res, err := f.run(ctx)
	if err != nil && !interrupted(res) {
		return nil, res, err
	}
	fitted, attachErr := f.model(res)
	if attachErr != nil {
		return nil, res, fmt.Errorf("fit: %w", attachErr)
	}
	return fitted, res, err
}

// fitting is a posterior that is being fitted.
type fitting struct {
	m     *Model
	o     FitOptions
	split split
	x, y  *tensor.Dense // training rows in standardised units
	layer *valla.Layer
	lik   likelihood.Likelihood
}

func newFitting(m *Model, set *data.Set, o FitOptions) (*fitting, error) {
	o = o.complete(set.N(), m.Classes != nil)
	if err := o.check(m); err != nil {
		return nil, err
	}
	if err := m.checkSet(set); err != nil {
		return nil, err
	}
	s, err := divide(set, o.Validation, o.Seed)
	if err != nil {
		return nil, err
	}
	f := &fitting{m: m, o: o, split: s, lik: likelihood.Softmax{}}
	if m.Classes == nil {
		f.lik = likelihood.NewGaussian(m.startNoise(o), m.Dtype())
	}
	if f.x, f.y, err = m.examples(s.train); err != nil {
		return nil, err
	}
	z, class, err := f.inducing()
	if err != nil {
		return nil, err
	}
	f.layer, err = valla.New(jacobian.NTK{Net: m.Net}, graph.Convert(z, m.Dtype()), class)
	if err != nil {
		return nil, err
	}
	f.layer.LogPriorStd.Set(0, math.Log(o.PriorStd))
	return f, nil
}

// startNoise returns the noise variance to start from, in standardised units.
func (m *Model) startNoise(o FitOptions) float64 {
	if o.NoiseStd == 0 {
		return m.MAPNoise
	}
	std := o.NoiseStd / m.Targets.Std[0]
	return std * std
}

// inducing returns the first inducing points [M,D] and, with classes, what each of them
// is of: as many for each class as make up M, at least one, where it has so many rows.
func (f *fitting) inducing() (*tensor.Dense, []int, error) {
	x, rng := graph.Convert(f.x, tensor.Float64), rand.New(rand.NewPCG(f.o.Seed, inducingStream))
	if f.m.Classes == nil {
		z, err := inducing(x, f.o, rng)
		return z, nil, err
	}
	labels, err := f.m.labels(f.split.train)
	if err != nil {
		return nil, nil, err
	}
	var points []float64
	var class []int
	c := len(f.m.Classes)
	for k := range c {
		var rows []int
		for i, label := range labels {
			if label == k {
				rows = append(rows, i)
			}
		}
		if len(rows) == 0 {
			continue // all its rows are held out
		}
		o := f.o
		o.Inducing = max(1, (f.o.Inducing+c-1-k)/c)
		z, err := inducing(data.TakeRows(x, rows), o, rng)
		if err != nil {
			return nil, nil, err
		}
		points = append(points, z.Float64s()...)
		class = append(class, slices.Repeat([]int{k}, z.Shape()[0])...)
	}
	return tensor.New(tensor.WithShape(len(class), x.Shape()[1]), tensor.WithBacking(points)), class, nil
}

// inducing returns the centres of k-means of rows of x [N,D], [M,D].
func inducing(x *tensor.Dense, o FitOptions, rng *rand.Rand) (*tensor.Dense, error) {
	n, d := x.Shape()[0], x.Shape()[1]
	if n > maxKMeans {
		rows := rng.Perm(n)[:maxKMeans]
		part := make([]float64, maxKMeans*d)
		data.Gather(part, x.Float64s(), d, rows)
		x = tensor.New(tensor.WithShape(maxKMeans, d), tensor.WithBacking(part))
	}
	return data.KMeans(x, distinct(x, o.Inducing), o.Init, rng)
}

// distinct counts the different rows of x, up to limit.
func distinct(x *tensor.Dense, limit int) int {
	seen := map[string]bool{}
	values, d := x.Float64s(), x.Shape()[1]
	var key []byte
	for i := 0; i < len(values) && len(seen) < limit; i += d {
		key = key[:0]
		for _, v := range values[i : i+d] {
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v+0)) // -0 is 0
		}
		seen[string(key)] = true
	}
	return len(seen)
}

func (f *fitting) run(ctx context.Context) (*train.Result, error) {
	cfg := train.Config{
		Iterations: f.o.Iterations, Patience: f.o.Patience,
		Optimizer:  &train.Adam{LR: f.o.LearningRate},
		Checkpoint: f.o.Checkpoint, Resume: f.o.Resume,
		Progress: f.o.Progress, Label: "VaLLA",
	}
	if f.o.Checkpoint != "" {
		cfg.CheckpointEvery = checkpointEvery
	}
	if f.o.Optimizer == Natural {
		return f.natural(ctx, cfg)
	}
	if f.split.validation != nil {
		var err error
		if cfg.Validate, err = f.validation(); err != nil {
			return nil, fmt.Errorf("fit: %w", err)
		}
	}
	fit := valla.Fit{
		Net: f.m.Net, Layer: f.layer, Likelihood: f.lik, Alpha: f.o.Alpha,
		FixPrior: f.o.FixPrior, FixLikelihood: f.o.FixNoise,
		BatchSize: f.o.BatchSize, Seed: f.o.Seed, Config: cfg,
	}
	return fit.Run(ctx, f.x, f.y)
}

// natural fits by natural gradients, which choose σ₀ by the rows held out.
func (f *fitting) natural(ctx context.Context, cfg train.Config) (*train.Result, error) {
	if cfg.CheckpointEvery > 0 {
		cfg.CheckpointEvery = checkpointEvery / 10
	}
	fit := valla.Natural{
		Net: f.m.Net, Layer: f.layer, Likelihood: f.lik, Alpha: f.o.Alpha,
		FixPrior: f.o.FixPrior, FixLikelihood: f.o.FixNoise,
		BatchSize: f.o.BatchSize, Seed: f.o.Seed, Config: cfg,
	}
	if f.split.validation != nil {
		var err error
		if fit.ValidationX, fit.ValidationY, err = f.m.examples(f.split.validation); err != nil {
			return nil, fmt.Errorf("fit: %w", err)
		}
	}
	res, err := fit.Run(ctx, f.x, f.y)
	if res == nil {
		return nil, err
	}
	return res.Result, err
}

// validation returns a function for the mean NLL of the rows held out.
func (f *fitting) validation() (func(context.Context) (float64, error), error) {
	noise, ok := f.lik.(likelihood.Gaussian)
	if !ok {
		return func(ctx context.Context) (float64, error) {
			m := *f.m
			m.Posterior = VaLLA{f.layer}
			scores, err := m.EvaluateClasses(ctx, f.split.validation, Probit)
			return scores.NLL, err
		}, nil
	}
	x, y, err := f.m.standardized(f.split.validation)
	if err != nil {
		return nil, err
	}
	return valla.NewPosterior(f.m.Net, f.layer).ValidateNLL(noise, x, y), nil
}

// model returns the model with the posterior as it is now.
func (f *fitting) model(res *train.Result) (*Model, error) {
	m, noise := f.m.MAP(), 0.0
	if g, ok := f.lik.(likelihood.Gaussian); ok {
		noise = g.Variance()
	}
	if err := m.Attach(f.layer, f.m.Fingerprint(), noise); err != nil {
		return nil, err
	}
	run := Run{
		Method: MethodVaLLA, Rows: f.split.train.N(), Validation: f.split.held(), Seed: f.o.Seed,
		BatchSize: min(f.o.BatchSize, f.split.train.N()), LearningRate: f.o.LearningRate,
		Optimizer: f.o.Optimizer, Alpha: &f.o.Alpha, Inducing: f.layer.Inducing(), PriorStd: f.layer.PriorStd(),
	}
	m.Training = append(m.Training, run.ended(res))
	return m, nil
}
