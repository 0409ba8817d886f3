package mfvi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/internal/steps"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
)

// checkpointEvery are the steps between two checkpoints.
const checkpointEvery = 100

// Fit implements gp.Settings. The state after the last step is kept, as published.
func (s *Settings) Fit(ctx context.Context, p gp.Problem, r gp.Run) (*gp.Fitted, error) {
	c, err := gp.Completed(p, s.complete)
	if err != nil {
		return nil, err
	}
	f := newFitting(p, r, c)
	if _, err := f.plan(); err != nil {
		return nil, err
	}
	fitted, err := f.steps().Steps(ctx, f.fitted)
	if errors.As(err, new(*train.NonFiniteError)) {
		err = fmt.Errorf("mfvi: the steps diverge: try %s: %w", f.remedy(), err)
	}
	return fitted, err
}

// remedy says which settings make steps smaller. Slopes of Gaussian noise are in proportion to 1/σ², so that steps of a
// network whose residuals are nearly 0 are too large for any but a tiny learning rate.
func (f *fitting) remedy() string {
	text := fmt.Sprintf("the setting learning-rate below %g", f.s.LearningRate)
	if variance := likelihood.NoiseVariance(f.lik); variance > 0 {
		text += fmt.Sprintf(", or the setting noise-std above %.3g", math.Sqrt(variance))
	}
	return text
}

// fitting is the state of one fit.
type fitting struct {
	p gp.Problem // network, likelihood and examples
	r gp.Run     // seed, memory, checkpoint and progress
	s Settings   // complete

	lik   likelihood.Likelihood // with the parameters of the fit
	means *layers.Copy          // μ and the running statistics
	stds  []*graph.Param        // ψ, in the order of the parameters; without noise nil
	begun []float64             // ψ at the start
}

// newFitting is a fit before the first step.
func newFitting(p gp.Problem, r gp.Run, s Settings) *fitting {
	f := &fitting{p: p, r: r, s: s, lik: steps.Start(p, s.NoiseStd), means: layers.NewCopy(p.Net)}
	if s.Estimator == none {
		return f
	}
	rng := rand.New(rand.NewPCG(r.Seed, startStream))
	for _, w := range f.means.Params() {
		v := make([]float64, w.Value.Shape().TotalSize())
		for i := range v {
			v[i] = s.LogStd + rng.Float64() - 0.5
		}
		f.stds = append(f.stds, graph.NewParam(w.Name+" log std", v, p.Dtype(), w.Value.Shape()...))
	}
	f.begun = graph.Flat(f.stds)
	return f
}

// trained lists what is trained.
func (f *fitting) trained() []*graph.Param {
	all := append([]*graph.Param{}, f.means.Params()...)
	if f.s.trainsStds() {
		all = append(all, f.stds...)
	}
	return append(all, f.noise()...)
}

// noise lists the trained parameters of the likelihood.
func (f *fitting) noise() []*graph.Param {
	if !f.s.LearnNoise {
		return nil
	}
	return f.lik.Params()
}

// step is what a step computes.
type step struct {
	steps.Step             // Loss is data + KL/N
	data       *graph.Node // the mean negative log density, without KL/N
	noises     []*noise    // the leaves that are drawn for each mini-batch
}

// write writes a step for inputs x [B,…] and targets y [B,W·C].
func (f *fitting) write(b *graph.Builder, x, y *graph.Node) step {
	f.means.Use(b)
	w := &writer{b: b, how: f.s.Estimator, mu: map[*graph.Param]*graph.Node{}, psi: map[*graph.Param]*graph.Node{}, sigma: map[*graph.Param]*graph.Node{}}
	for i, p := range f.p.Net.Params() {
		w.mu[p] = b.Param(f.means.Params()[i])
		if f.stds != nil {
			w.psi[p] = b.Param(f.stds[i])
			w.sigma[p] = b.Exp(w.psi[p])
		}
	}
	out, updates := w.forward(f.p.Net, x)
	if b.Err() != nil {
		return step{}
	}
	s := step{noises: w.noises}
	s.Updates, s.Feed = f.means.Own(updates), func(batches train.Feed) train.Feed { return feed{batches, w.noises, drawn(f.r.Seed)} }
	for _, n := range w.noises {
		s.Leaves = append(s.Leaves, n.node)
	}
	s.data = b.Neg(b.Mean(f.lik.LogDensityNode(b, y, out)))
	s.Loss = b.Add(s.data, b.Scale(w.kl(f.p.Net.Params(), f.s.PriorStd), 1/float64(f.p.All())))
	return s
}

// steps describes the fit in steps.
func (f *fitting) steps() *steps.Graph {
	g := &steps.Graph{
		What: "mfvi: a step", BatchSize: f.s.BatchSize, Trained: f.trained(),
		Write: func(b *graph.Builder, x, y *graph.Node) steps.Step { return f.write(b, x, y).Step },
		Fit: steps.Fit{
			Problem: f.p, Run: f.r, Settings: &f.s, Likelihood: f.lik, Held: f.held,
			Identity: []string{fmt.Sprintf("MF-VI, estimator %s, noise of seed %d, log std %g, prior std %g", f.s.Estimator, f.r.Seed, f.s.LogStd, f.s.PriorStd)},
			Loop: train.Config{
				Iterations: f.s.Iterations, Optimizer: f.s.optimizer(len(f.means.Params()), len(f.noise())), Schedule: f.s.course(),
				ValidateEvery: f.s.ValidateEvery, KeepLast: true, CheckpointEvery: checkpointEvery,
			},
		},
	}
	if f.s.Augment {
		g.Rows = f.p.Augmented
	}
	return g
}

// held returns the outputs [N·C] of the network with the means at the held-out rows.
func (f *fitting) held(ctx context.Context) (gp.Gaussian, error) {
	out, err := gp.Point{Net: f.means, Dtype: f.p.Dtype()}.Mean(ctx, f.p.Validation.X)
	if err != nil {
		return gp.Gaussian{}, err
	}
	return gp.Certain(out.Float64s(), f.p.Outputs()), nil
}

// fitted returns the result of the fit.
func (f *fitting) fitted(_ context.Context, record gp.Record) (*gp.Fitted, error) {
	q := &posterior{
		net: f.p.Net, input: f.p.Train.X.Shape()[1:].Clone(), outputs: f.p.Outputs(), classes: likelihood.IsClass(f.lik),
		means: f.means, stds: f.stds, samples: f.s.Samples, seed: f.r.Seed, limit: f.r.Limit(),
	}
	if f.stds == nil {
		q.samples = 1
	}
	record.Untouched, record.PriorStds = true, []float64{f.s.PriorStd}
	f.report(&record)
	return gp.Learned(q, f.lik, record), nil
}

// littleMoved is a change of ψ that does not matter: a hundredth of a standard deviation.
const littleMoved = 0.01

// report says how far means and standard deviations have moved.
func (f *fitting) report(r *gp.Record) {
	fact := func(name string, v float64) { r.Facts = append(r.Facts, gp.Fact{Name: name, Value: v}) }
	fact("largest change of a mean", furthest(graph.Flat(f.means.Params()), graph.Flat(f.p.Net.Params())))
	if f.stds == nil {
		r.Notes = append(r.Notes, "The control without noise: the network was trained further, and nothing was learned of its uncertainty.")
		return
	}
	now, mean := graph.Flat(f.stds), 0.0
	for i := range now {
		mean += (now[i] - f.begun[i]) / float64(len(now))
	}
	moved := furthest(now, f.begun)
	fact("largest change of ψ", moved)
	fact("mean change of ψ", mean)
	if moved < littleMoved {
		r.Notes = append(r.Notes, fmt.Sprintf("The log standard deviations ψ of the weights have moved by %.2g at most: the spread of the weights is that of the start, and was not learned. The control estimator=none shows what further training alone does.", moved))
	}
}

// furthest is the largest difference of two lists.
func furthest(a, b []float64) (most float64) {
	for i := range a {
		most = max(most, math.Abs(a[i]-b[i]))
	}
	return most
}
