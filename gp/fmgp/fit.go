package fmgp

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
)

// checkpointEvery are the steps between two checkpoints.
const checkpointEvery = 1000

// Fit implements gp.Settings. The network runs once over the rows, before the first step.
func (s *Settings) Fit(ctx context.Context, p gp.Problem, r gp.Run) (*gp.Fitted, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	f := &fitting{p: p, r: r}
	var err error
	if f.s, err = s.complete(p); err != nil {
		return nil, err
	}
	if err := f.start(ctx); err != nil {
		return nil, err
	}
	obj, err := f.objective()
	if err != nil {
		return nil, err
	}
	res, err := train.Run(ctx, obj, f.config())
	if err != nil && (res == nil || res.Stopped != train.Interrupted) {
		return nil, err
	}
	f.post.refresh()
	if failed := f.split(context.WithoutCancel(ctx)); failed != nil {
		return nil, failed
	}
	return f.fitted(res), err
}

// fitting is the state of one fit.
type fitting struct {
	p gp.Problem
	r gp.Run
	s Settings // complete

	lik   likelihood.Likelihood
	train points
	held  points // without validation rows empty
	layer *Layer
	post  *Posterior
	first float64 // the length scale before the first step
}

// start computes what the network makes of the rows, and makes the layer, the likelihood and
// the posterior as they are before the first step.
func (f *fitting) start(ctx context.Context) error {
	f.lik = f.p.Likelihood.Copy(f.p.Dtype())
	if f.s.NoiseStd != 0 {
		f.lik = likelihood.NewGaussian(f.s.NoiseStd*f.s.NoiseStd, f.p.Dtype())
	}
	shape, limit := f.p.Train.X.Shape()[1:].Clone(), cmp.Or(f.r.Memory/4, defaultMemory)
	f.post = &Posterior{net: f.p.Net, input: shape, limit: limit}
	var err error
	if f.post.network, err = newNetwork(f.p.Net, f.p.Dtype(), shape, f.s.Kernel == kernelEmbedding, limit); err != nil {
		return err
	}
	if got, want := f.post.network.outputs, f.p.Outputs(); got != want {
		return fmt.Errorf("fmgp: the network has %d outputs, the targets need %d", got, want)
	}
	if f.train, err = f.post.network.points(ctx, f.p.Train.X, f.r.Memory, f.r.Tell("training rows")); err != nil {
		return fmt.Errorf("fmgp: training rows: %w", err)
	}
	if v := f.p.Validation; v != nil {
		if f.held, err = f.post.network.points(ctx, v.X, f.r.Memory, f.r.Tell("validation rows")); err != nil {
			return fmt.Errorf("fmgp: validation rows: %w", err)
		}
	}
	return f.startLayer(ctx)
}

// untold hears of progress and says nothing.
func untold(int, int) {}

// startLayer makes the layer.
func (f *fitting) startLayer(ctx context.Context) error {
	z, class, err := f.inducing()
	if err != nil {
		return err
	}
	f.post.start = z
	if f.first = f.s.LengthScale; f.first == 0 {
		f.first = gp.LengthScale(f.p.Train.X, rand.New(rand.NewPCG(f.r.Seed, pairStream)))
	}
	at, err := f.located(ctx, z)
	if err != nil {
		return fmt.Errorf("fmgp: inducing inputs: %w", err)
	}
	k := NewKernel(width(f.train.x), f.post.network.features, f.p.Outputs(), f.first, f.s.Amplitude, f.p.Dtype())
	f.layer, err = NewLayer(k, at, class)
	f.post.layer = f.layer
	return err
}

// params lists what is trained.
func (f *fitting) params() []*graph.Param {
	if f.s.FixNoise {
		return f.layer.Params()
	}
	return append(f.layer.Params(), f.lik.Params()...)
}

// objective builds the graph that a step runs. A mini-batch that needs more than the memory
// is computed in parts.
func (f *fitting) objective() (*train.Graph, error) {
	what := fmt.Sprintf("fmgp: a step with %d inducing points", f.layer.Inducing())
	size, _, err := graph.Tile(what, f.s.BatchSize, f.r.Memory, f.stepBytes)
	if err != nil {
		return nil, err
	}
	b := graph.NewBuilder(f.p.Dtype())
	batches, err := train.NewBatchesOf(b, f.train, f.p.Train.Y, f.s.BatchSize, f.s.BatchSize/size, f.r.Seed)
	if err != nil {
		return nil, fmt.Errorf("fmgp: %w", err)
	}
	loss := f.loss(b, batches.X(), batches.Y())
	if err := b.Err(); err != nil {
		return nil, fmt.Errorf("fmgp: %w", err)
	}
	g, err := train.NewGraph(b, loss, f.params(), batches)
	if err != nil {
		return nil, err
	}
	f.identify(g)
	return g, nil
}

// loss writes the objective for rows [x, f, g], [B, D+E+C], and targets [B,C].
func (f *fitting) loss(b *graph.Builder, rows, y *graph.Node) *graph.Node {
	k := f.layer.Kernel
	u, mean := b.Slice(rows, 1, 0, k.Width()), b.Slice(rows, 1, k.Width(), k.Width()+k.Outputs)
	l := f.layer.Loss(b, u, y, mean, Objective{Likelihood: f.lik, Alpha: *f.s.Alpha, N: f.p.Train.N()})
	if b.Err() != nil {
		return nil
	}
	return l.Loss
}

const (
	// copiesTrained of each trained array exist: its values, its sum of gradients, two moments
	// of Adam, its best values.
	copiesTrained = 5
	// runtimeBytes is what any program takes, and what kernels use as a workspace.
	runtimeBytes = 64 << 20
)

// stepBytes is the memory of a step on size examples at a time: that of the program, of the
// trained arrays and of what the network has made of the rows.
func (f *fitting) stepBytes(size int) (int64, error) {
	b := graph.NewBuilder(f.p.Dtype())
	rows, y := b.Input("x", size, f.train.Shape()[1]), b.Input("y", size, f.p.Outputs())
	loss, varying := f.loss(b, rows, y), []*graph.Node{rows, y}
	for _, p := range f.params() {
		varying = append(varying, b.Param(p))
	}
	if b.Err() != nil {
		return 0, fmt.Errorf("fmgp: %w", b.Err())
	}
	outputs := append(graph.Grad(b, loss, varying[2:]...), loss)
	program, err := graph.Plan(b, outputs, graph.Options{Varying: varying})
	if err != nil {
		return 0, err
	}
	arrays := rows.Shape().TotalSize()
	for _, n := range varying[2:] {
		arrays += copiesTrained * n.Shape().TotalSize()
	}
	kept := f.train.n() + f.held.n()
	arrays += kept * (f.train.Shape()[1] - f.layer.Kernel.Inputs)
	return runtimeBytes + int64(program) + int64(b.Dtype().Size())*int64(arrays), nil
}

// identify says what must be equal in a run that goes on from a checkpoint.
func (f *fitting) identify(g *train.Graph) {
	g.Identify(
		"network with fingerprint "+layers.Fingerprint(f.p.Net),
		fmt.Sprintf("FMGP, kernel %s, alpha %g, length scale %v, amplitude %v", f.s.Kernel, *f.s.Alpha, f.first, f.s.Amplitude),
		fmt.Sprintf("inducing locations %s of the outputs %v", train.Checksum(f.layer.Z.Value), f.layer.Class),
		fmt.Sprintf("likelihood %v with the noise variance %v, fixed: %t", f.lik, likelihood.NoiseVariance(f.lik), f.s.FixNoise),
	)
	if f.p.Validation != nil {
		g.Identify("validation "+f.held.Identity(), "validation targets "+train.Checksum(f.p.Validation.Y))
	}
}

// config is that of the training loop.
func (f *fitting) config() train.Config {
	c := train.Config{
		Iterations: f.s.Iterations, Optimizer: &train.Adam{LR: f.s.LearningRate}, Schedule: f.s.course(),
		ValidateEvery: f.s.ValidateEvery, KeepLast: f.s.KeepLast,
		Checkpoint: f.r.Checkpoint, Resume: f.r.Resume, OnProgress: f.r.OnProgress,
	}
	if c.Checkpoint != "" {
		c.CheckpointEvery = checkpointEvery
	}
	if v := f.p.Validation; v != nil {
		y := graph.Floats(v.Y)
		c.Validate = func(ctx context.Context) (float64, error) { return f.post.nll(ctx, f.lik, f.held, y) }
	}
	return c
}

// fitted returns the result of the fit.
func (f *fitting) fitted(res *train.Result) *gp.Fitted {
	k := f.layer.Kernel
	out := &gp.Fitted{
		Posterior: f.post, NoiseVariance: likelihood.NoiseVariance(f.lik),
		Record: gp.Record{
			Rows: f.p.Train.N(), Settings: settings.Map(&f.s), PriorStds: []float64{math.Sqrt(k.Variance())}, Result: res,
			Facts: []gp.Fact{{Name: "amplitude", Value: k.Amplitude()}, {Name: "length scale at the start", Value: f.first}, {Name: "length scale", Value: meanScale(k)}},
		},
	}
	if m := f.layer.Inducing(); m != f.s.Inducing {
		why := "there are no more different inputs"
		if m > f.s.Inducing {
			why = "each output has at least one"
		}
		out.Record.Notes = append(out.Record.Notes, fmt.Sprintf("%d inducing points instead of %d: %s.", m, f.s.Inducing, why))
	}
	if f.p.Validation != nil {
		out.Record.ValidationRows = f.p.Validation.N()
	}
	return out
}

// meanScale is the geometric mean of the length scales.
func meanScale(k *Kernel) float64 {
	sum, v := 0.0, k.LogLength.Floats()
	for _, l := range v {
		sum += l / float64(len(v))
	}
	return math.Exp(sum)
}
