package valla

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

const (
	// adamCheckpoint and naturalCheckpoint are the steps between two checkpoints.
	adamCheckpoint    = 1000
	naturalCheckpoint = 50
	// maxCandidates bounds the rows among which the greedy choice is made.
	maxCandidates = 2000
	// kMeansStream and candidateStream are the random streams of a seed from which the
	// inducing inputs are drawn.
	kMeansStream    = 2
	candidateStream = 7
)

// Beside are variances [N,C] that another posterior adds to VaLLA's at the training and at
// the validation examples of a problem, in its element type. nil means none.
type Beside struct{ Train, Validation *tensor.Dense }

// Fit implements gp.Settings.
func (s *Settings) Fit(ctx context.Context, p gp.Problem, r gp.Run) (*gp.Fitted, error) {
	return s.FitBeside(ctx, p, r, Beside{})
}

// FitBeside is Fit for a posterior whose variance is one part of a sum, by natural gradients
// only. The objective is that of the sum.
func (s *Settings) FitBeside(ctx context.Context, p gp.Problem, r gp.Run, beside Beside) (*gp.Fitted, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	f := &fitting{p: p, r: r, beside: beside}
	var err error
	if f.s, err = s.complete(p); err != nil {
		return nil, err
	}
	if f.s.Optimizer != optimizerNatural && beside.Train != nil {
		return nil, settings.Errorf("optimizer %s beside another posterior, expected %s", f.s.Optimizer, optimizerNatural)
	}
	if f.s.Weights, f.weightNotes, err = gp.InformativeWeights(ctx, p, r, f.s.Weights); err != nil {
		return nil, err
	}
	if f.p.Net, err = chosen(p.Net, f.s.Weights); err != nil {
		return nil, settings.Errorf("weights: %w", err)
	}
	if err := f.start(ctx); err != nil {
		return nil, err
	}
	res, err := f.run(ctx)
	if err != nil && (res == nil || res.Stopped != train.Interrupted) {
		return nil, err
	}
	f.post.Refresh()
	if failed := f.split(context.WithoutCancel(ctx)); failed != nil {
		return nil, failed
	}
	return f.fitted(res), err
}

// chosen returns the network of whose parameters those count that names choose.
func chosen(net layers.Network, names []string) (layers.Network, error) {
	params, err := layers.Choose(net, names...)
	if err != nil || len(params) == len(net.Params()) {
		return net, err
	}
	return layers.Part{Network: net, Chosen: params}, nil
}

// fitting is the state of one fit.
type fitting struct {
	p gp.Problem
	r gp.Run
	s Settings // complete

	beside Beside

	weightNotes []string // on the choice of weights

	layer *Layer
	lik   likelihood.Likelihood
	post  *Posterior
	facts []gp.Fact
}

// start makes the layer, the likelihood and the posterior as they are before the first
// step.
func (f *fitting) start(ctx context.Context) error {
	f.lik = f.p.Likelihood.Copy(f.p.Dtype())
	if f.s.NoiseStd != 0 {
		f.lik = likelihood.NewGaussian(f.s.NoiseStd*f.s.NoiseStd, f.p.Dtype())
	}
	z, class, err := f.inducing()
	if err != nil {
		return err
	}
	if f.layer, err = New(jacobian.NTK{Net: f.p.Net}, z, class); err != nil {
		return err
	}
	f.layer.LogPriorStd.Set(0, math.Log(f.s.PriorStd))
	if f.s.OptimalA {
		if _, err := f.layer.OptimalA(ctx, f.p.Train.X, likelihood.NoiseVariance(f.lik)); err != nil {
			return err
		}
	}
	f.post = NewPosterior(f.p.Net, f.layer)
	f.post.start = z.Clone().(*tensor.Dense)
	f.post.additive = likelihood.NoiseVariance(f.lik) > 0 && alphaOf(f.s.Alpha) == 0
	if f.r.Memory > 0 {
		f.post.LimitMemory(f.r.Memory / 4) // it lives beside the step of the fit
	}
	return nil
}

// inducing returns the first inducing inputs [M,…] and their outputs.
func (f *fitting) inducing() (z *tensor.Dense, class []int, err error) {
	if f.s.Init != initGreedy {
		rng := rand.New(rand.NewPCG(f.r.Seed, kMeansStream))
		return gp.KMeans(f.p, f.s.Inducing, kMeansInits[f.s.Init], rng)
	}
	candidates := gp.SampleRows(f.p.Train.X, maxCandidates, rand.New(rand.NewPCG(f.r.Seed, candidateStream)))
	class = make([]int, candidates.Shape()[0])
	for i := range class {
		class[i] = i % f.p.Outputs()
	}
	return Greedy(jacobian.NTK{Net: f.p.Net}, candidates, class, min(f.s.Inducing, len(class)))
}

// run makes the steps, which change the layer and the likelihood.
func (f *fitting) run(ctx context.Context) (*train.Result, error) {
	if f.s.Optimizer == optimizerNatural {
		return f.natural(ctx)
	}
	fit := Fit{
		Net: f.p.Net, Layer: f.layer, Likelihood: f.lik, Alpha: f.s.Alpha,
		FixInducing: f.s.FixInducing, FixPrior: f.s.FixPrior, FixLikelihood: f.s.FixNoise,
		BatchSize: f.s.BatchSize, Seed: f.r.Seed, MemoryLimit: f.r.Memory, Config: f.config(adamCheckpoint),
	}
	if v := f.p.Validation; v != nil {
		fit.ValidationX, fit.ValidationY = v.X, v.Y
	}
	return fit.Run(ctx, f.p.Train.X, f.p.Train.Y)
}

func (f *fitting) natural(ctx context.Context) (*train.Result, error) {
	fit := Natural{
		Net: f.p.Net, Layer: f.layer, Likelihood: f.lik, Alpha: f.s.Alpha,
		FixInducing: f.s.FixInducing, FixPrior: f.s.FixPrior, FixLikelihood: f.s.FixNoise,
		BatchSize: f.s.BatchSize, Seed: f.r.Seed, MemoryLimit: f.r.Memory / 2, Config: f.config(naturalCheckpoint),
		Beside: f.beside.Train, ValidationBeside: f.beside.Validation,
	}
	if v := f.p.Validation; v != nil {
		fit.ValidationX, fit.ValidationY = v.X, v.Y
	}
	res, err := fit.Run(ctx, f.p.Train.X, f.p.Train.Y)
	if res == nil {
		return nil, err
	}
	f.facts = append(f.facts, jitterFacts(res.Jitter)...)
	return res.Result, err
}

// config is that of the training loop, with every steps between two checkpoints.
func (f *fitting) config(every int) train.Config {
	c := train.Config{
		Iterations: f.s.Iterations, Optimizer: &train.Adam{LR: f.s.LearningRate}, Schedule: schedules[f.s.Schedule],
		ValidateEvery: f.s.ValidateEvery, Patience: *f.s.Patience, KeepLast: f.s.KeepLast,
		Checkpoint: f.r.Checkpoint, Resume: f.r.Resume, OnProgress: f.r.OnProgress,
	}
	if c.Checkpoint != "" {
		c.CheckpointEvery = every
	}
	return c
}

// fitted returns the result of the fit.
func (f *fitting) fitted(res *train.Result) *gp.Fitted {
	out := &gp.Fitted{
		Posterior: f.post, NoiseVariance: likelihood.NoiseVariance(f.lik),
		Record: gp.Record{
			Rows: f.p.Train.N(), Settings: settings.Map(&f.s), PriorStds: []float64{f.layer.PriorStd()},
			Facts: f.facts, Notes: f.notes(), Result: res,
		},
	}
	if f.p.Validation != nil {
		out.Record.ValidationRows = f.p.Validation.N()
	}
	return out
}

// jitterFacts says how much was added to the diagonal of K_z so that it has a Cholesky factor, if
// anything was.
func jitterFacts(jitter float64) []gp.Fact {
	if jitter == 0 {
		return nil
	}
	return []gp.Fact{{Name: "jitter", Value: jitter}}
}
