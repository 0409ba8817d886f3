package fmgp

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/internal/steps"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/train"
)

// checkpointEvery are the steps between two checkpoints.
const checkpointEvery = 1000

// Fit implements gp.Settings. The network runs once over the rows, before the first step.
func (s *Settings) Fit(ctx context.Context, p gp.Problem, r gp.Run) (*gp.Fitted, error) {
	f := &fitting{p: p, r: r}
	var err error
	if f.s, err = gp.Completed(p, s.complete); err != nil {
		return nil, err
	}
	if _, err := f.plan(); err != nil {
		return nil, err
	}
	if err := f.start(ctx); err != nil {
		return nil, err
	}
	return f.steps().Steps(ctx, f.fitted)
}

// fitting is the state of one fit.
type fitting struct {
	p gp.Problem // network, likelihood and examples
	r gp.Run     // seed, memory, checkpoint and progress
	s Settings   // complete

	lik    likelihood.Likelihood // whose parameters the fit changes
	train  points                // the training rows with the network's outputs and features
	held   points                // without validation rows empty
	layer  *sparseGP             // what the fit changes
	post   *posterior            // of layer
	first  float64               // the length scale before the first step
	beside int64                 // bytes that the plan holds beside a step; 0 before the plan
}

// start computes what the network makes of the rows, and makes the layer, the likelihood and
// the posterior as they are before the first step.
func (f *fitting) start(ctx context.Context) error {
	f.lik = steps.Start(f.p, f.s.NoiseStd)
	shape, limit := f.p.Train.X.Shape()[1:].Clone(), f.r.Limit()/4
	f.post = &posterior{net: f.p.Net, input: shape, limit: limit}
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
	k := newCovariance(width(f.train.x), f.post.network.features, f.p.Outputs(), f.first, f.s.Amplitude, f.p.Dtype())
	f.layer, err = newSparseGP(k, at, class)
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

// what names a step with m inducing points.
func (f *fitting) what(m int) string { return fmt.Sprintf("fmgp: a step with %d inducing points", m) }

// steps describes the fit in steps.
func (f *fitting) steps() *steps.Graph {
	k := f.layer.Kernel
	kept := (f.train.n() + f.held.n()) * (k.Features + k.Outputs) // numbers that the network has made of the rows
	return &steps.Graph{
		What: f.what(f.layer.Inducing()),
		Rows: f.train, BatchSize: f.s.BatchSize, Trained: f.params(), Beside: cmp.Or(f.beside, int64(kept)*int64(f.p.Dtype().Size())),
		Write: func(b *graph.Builder, x, y *graph.Node) steps.Step { return steps.Step{Loss: f.loss(b, x, y)} },
		Fit: steps.Fit{
			Problem: f.p, Run: f.r, Settings: &f.s, Likelihood: f.lik,
			Identity: []string{
				fmt.Sprintf("FMGP, kernel %s, alpha %g, length scale %v, amplitude %v, noise fixed: %t", f.s.Kernel, *f.s.Alpha, f.first, f.s.Amplitude, f.s.FixNoise),
				fmt.Sprintf("inducing locations %s of the outputs %v", train.Checksum(f.layer.Z.Value), f.layer.Class),
			},
			Loop: train.Config{
				Iterations: f.s.Iterations, Optimizer: &train.Adam{LR: f.s.LearningRate}, Schedule: f.s.course(),
				ValidateEvery: f.s.ValidateEvery, KeepLast: f.s.KeepLast, CheckpointEvery: checkpointEvery,
			},
			Held: func(ctx context.Context) (gp.Gaussian, error) {
				return f.post.present(ctx, f.held, likelihood.IsClass(f.lik))
			},
		},
	}
}

// loss writes the objective for rows [x, f, g], [B, D+E+C], and targets [B,W·C].
func (f *fitting) loss(b *graph.Builder, rows, y *graph.Node) *graph.Node {
	k := f.layer.Kernel
	u, mean := b.Slice(rows, 1, 0, k.Width()), b.Slice(rows, 1, k.Width(), k.Width()+k.Outputs)
	l := f.layer.Loss(b, u, y, mean, lossOptions{Likelihood: f.lik, Alpha: *f.s.Alpha, N: f.p.All()})
	if b.Err() != nil {
		return nil
	}
	return l.Loss
}

// Objective returns a step of Adam on mini-batches of batch rows of a problem, at the parameters of
// the posterior and of the problem's likelihood, which the step changes. It serves measurements.
func (p *posterior) Objective(ctx context.Context, of gp.Problem, r gp.Run, batch int) (*train.Graph, error) {
	if err := p.prepare(); err != nil {
		return nil, err
	}
	f := &fitting{p: of, r: r, layer: p.layer, lik: of.Likelihood, post: p}
	f.s.Alpha, f.s.BatchSize = new(1.0), min(batch, of.Train.N())
	var err error
	if f.train, err = p.network.points(ctx, of.Train.X, r.Memory, untold); err != nil {
		return nil, err
	}
	return f.steps().Objective()
}

// fitted returns the result of the fit after the last step.
func (f *fitting) fitted(ctx context.Context, record gp.Record) (*gp.Fitted, error) {
	f.post.refresh()
	if err := f.split(ctx); err != nil {
		return nil, err
	}
	k := f.layer.Kernel
	record.PriorStds = []float64{math.Sqrt(k.Variance())}
	record.Facts = []gp.Fact{{Name: "amplitude", Value: k.Amplitude()}, {Name: "length scale at the start", Value: f.first}, {Name: "length scale", Value: meanScale(k)}}
	if m := f.layer.Inducing(); m != f.s.Inducing {
		why := gp.FewerPoints(f.p)
		if m > f.s.Inducing {
			why = "each output has at least one"
		}
		record.Notes = append(record.Notes, fmt.Sprintf("%d inducing points instead of %d: %s.", m, f.s.Inducing, why))
	}
	return gp.Learned(f.post, f.lik, record), nil
}

// meanScale is the geometric mean of the length scales.
func meanScale(k *covariance) float64 {
	sum, v := 0.0, k.LogLength.Floats()
	for _, l := range v {
		sum += l / float64(len(v))
	}
	return math.Exp(sum)
}
