package valla

import (
	"cmp"
	"context"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// byHand is a fit of a layer that a test has made, to which the settings' choice of a start and of
// defaults does not apply.
type byHand struct {
	Net        layers.Network
	Layer      *Layer
	Likelihood likelihood.Likelihood // changed in place
	Alpha      *float64              // nil means 1

	FixInducing, FixPrior, FixLikelihood bool

	BatchSize   int // 0 means 100
	Seed        uint64
	MemoryLimit int64 // of a step

	ValidationX, ValidationY *tensor.Dense // held-out rows; nil: none
	Config                   train.Config
}

// fitting returns the fit to inputs x and targets y before its first step.
func (h byHand) fitting(x, y *tensor.Dense) (*fitting, error) {
	p := gp.Problem{Net: h.Net, Likelihood: h.Likelihood, Train: gp.Examples{X: x, Y: y}}
	if h.ValidationX != nil || h.ValidationY != nil {
		p.Validation = &gp.Examples{X: h.ValidationX, Y: h.ValidationY}
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	if h.Alpha == nil {
		h.Alpha = new(1.0)
	}
	f := &fitting{p: p, r: gp.Run{Seed: h.Seed, Memory: h.MemoryLimit}, layer: h.Layer, lik: h.Likelihood, post: newPosterior(h.Net, h.Layer)}
	f.s = Settings{
		Alpha: h.Alpha, FixInducing: h.FixInducing, FixPrior: h.FixPrior, FixNoise: h.FixLikelihood,
		BatchSize: min(cmp.Or(h.BatchSize, 100), y.Shape()[0]),
	}
	f.r.Checkpoint, f.r.Resume, f.r.OnProgress = h.Config.Checkpoint, h.Config.Resume, h.Config.OnProgress
	if h.MemoryLimit > 0 {
		f.post.limitMemory(h.MemoryLimit / 4)
	}
	f.loop = h.Config
	return f, nil
}

// validationNLL is the mean negative log predictive density of targets y at inputs x.
func validationNLL(t *testing.T, p gp.Posterior, l likelihood.Likelihood, x, y *tensor.Dense) float64 {
	t.Helper()
	g := small.Predict(t, p, x)
	return gp.MeanNLL(l, graph.Floats(y), g)
}

// adamFit is a fit by Adam.
type adamFit byHand

// Run makes the steps, which change the layer and the likelihood.
func (a adamFit) Run(ctx context.Context, x, y *tensor.Dense) (*train.Result, error) {
	f, err := byHand(a).fitting(x, y)
	if err != nil {
		return nil, err
	}
	obj, err := f.steps().Objective()
	if err != nil {
		return nil, err
	}
	return train.Run(ctx, obj, f.steps().Config())
}

// Objective is what Run minimises.
func (a adamFit) Objective(x, y *tensor.Dense) (*train.Graph, error) {
	f, err := byHand(a).fitting(x, y)
	if err != nil {
		return nil, err
	}
	return f.steps().Objective()
}

// plan returns how many rows a step computes at a time, and what the fit needs in bytes.
func (a adamFit) plan(x, y *tensor.Dense) (size int, bytes int64, err error) {
	f, err := byHand(a).fitting(x, y)
	if err != nil {
		return 0, 0, err
	}
	g := f.steps()
	return graph.Tile(g.What, g.BatchSize, a.MemoryLimit, func(size int) (int64, error) {
		c, err := g.Cost(size)
		return c.Bytes, err
	})
}

// naturalFit is a fit by natural gradients.
type naturalFit byHand

// begin returns the steps before the first, with the defaults of the loop.
func (a naturalFit) begin(ctx context.Context, x, y *tensor.Dense) (*natural, error) {
	a.Config.Iterations = cmp.Or(a.Config.Iterations, 1000)
	a.Config.ValidateEvery = cmp.Or(a.Config.ValidateEvery, max(1, a.Config.Iterations/20))
	if a.Config.Optimizer == nil {
		a.Config.Optimizer = &train.Adam{LR: 1e-2}
	}
	if a.Config.Schedule == nil {
		a.Config.Schedule = train.Cosine(0)
	}
	f, err := byHand(a).fitting(x, y)
	if err != nil {
		return nil, err
	}
	return newNatural(ctx, f, a.MemoryLimit)
}

// naturalResult is the result of a fit by natural gradients.
type naturalResult struct {
	*train.Result
	Jitter float64 // the largest share of the mean diagonal of K_z that was added to it
}

// Run makes the steps, which change the layer and the likelihood.
func (a naturalFit) Run(ctx context.Context, x, y *tensor.Dense) (naturalResult, error) {
	n, err := a.begin(ctx, x, y)
	if err != nil {
		return naturalResult{}, err
	}
	res, err := train.Run(ctx, n, n.run().Config())
	if res != nil && res.Stopped != train.Failed {
		err = cmp.Or(err, n.export())
	}
	return naturalResult{res, n.ladder.numbers.Jitter}, err
}
