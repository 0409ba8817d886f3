package mfvi

import (
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
	"gorgonia.org/tensor"
)

// checkpointEvery are the steps between two checkpoints.
const checkpointEvery = 100

// Fit implements gp.Settings. The state after the last step is kept, as published.
func (s *Settings) Fit(ctx context.Context, p gp.Problem, r gp.Run) (*gp.Fitted, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	c, err := s.complete(p)
	if err != nil {
		return nil, err
	}
	f := newFitting(p, r, c)
	obj, err := f.objective()
	if err != nil {
		return nil, err
	}
	res, err := train.Run(ctx, obj, f.config())
	if err != nil && (res == nil || res.Stopped != train.Interrupted) {
		return nil, err
	}
	return f.fitted(res), err
}

// fitting is the state of one fit.
type fitting struct {
	p gp.Problem
	r gp.Run
	s Settings // complete

	lik   likelihood.Likelihood
	means *layers.Copy   // μ and the running statistics
	stds  []*graph.Param // ψ, in the order of the parameters; without noise nil
	begun []float64      // ψ at the start
}

// newFitting is a fit before the first step.
func newFitting(p gp.Problem, r gp.Run, s Settings) *fitting {
	f := &fitting{p: p, r: r, s: s, lik: p.Likelihood.Copy(p.Dtype()), means: layers.NewCopy(p.Net)}
	if s.NoiseStd != 0 {
		f.lik = likelihood.NewGaussian(s.NoiseStd*s.NoiseStd, p.Dtype())
	}
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
	f.begun = flat(f.stds)
	return f
}

// flat returns the elements of arrays one after the other.
func flat(params []*graph.Param) []float64 {
	var out []float64
	for _, p := range params {
		out = append(out, p.Floats()...)
	}
	return out
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
	data, loss *graph.Node // the mean negative log density; with KL/N
	noises     []*noise
	updates    []layers.Update
}

// write writes a step for inputs x [B,…] and targets y [B,C].
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
	c := out.Shape()[out.Dims()-1]
	s := step{noises: w.noises, updates: f.means.Own(updates)}
	s.data = b.Neg(b.Mean(f.lik.DataTerm(b, y, out, b.Fill(0, x.Shape()[0], c, c), 1)))
	s.loss = b.Add(s.data, b.Scale(w.kl(f.p.Net.Params(), f.s.PriorStd), 1/float64(f.p.Train.N())))
	return s
}

// objective builds the graph that a step runs. A mini-batch that needs more than the memory
// is computed in parts, unless the network has batch norm.
func (f *fitting) objective() (*train.Graph, error) {
	size, _, err := graph.Tile("mfvi: a step", f.s.BatchSize, f.r.Memory, f.stepBytes)
	if err != nil {
		return nil, err
	}
	source := train.Source(train.Rows{All: f.p.Train.X})
	if f.s.Augment {
		source = f.p.Augmented
	}
	b := graph.NewBuilder(f.p.Dtype())
	batches, err := train.NewBatchesOf(b, source, f.p.Train.Y, f.s.BatchSize, f.s.BatchSize/size, f.r.Seed)
	if err != nil {
		return nil, fmt.Errorf("mfvi: %w", err)
	}
	s := f.write(b, batches.X(), batches.Y())
	if err := b.Err(); err != nil {
		return nil, fmt.Errorf("mfvi: %w", err)
	}
	g, err := train.NewGraph(b, s.loss, f.trained(), feed{batches, s.noises, drawn(f.r.Seed)}, s.updates...)
	if err != nil {
		return nil, err
	}
	f.identify(g)
	return g, nil
}

const (
	// copiesTrained of each trained array exist: its values, its gradient and the sum of the
	// parts', and its momentum.
	copiesTrained = 4
	// runtimeBytes is what any program takes, and what kernels use as a workspace.
	runtimeBytes = 64 << 20
)

// stepBytes is the memory of a step on size examples at a time.
func (f *fitting) stepBytes(size int) (int64, error) {
	b := graph.NewBuilder(f.p.Dtype())
	x, y := b.Input("x", append([]int{size}, f.p.Train.X.Shape()[1:]...)...), b.Input("y", size, f.p.Outputs())
	s := f.write(b, x, y)
	if err := b.Err(); err != nil {
		return 0, fmt.Errorf("mfvi: %w", err)
	}
	leaves := []*graph.Node{x, y}
	arrays := x.Shape().TotalSize()
	for _, n := range s.noises {
		leaves, arrays = append(leaves, n.node), arrays+n.node.Shape().TotalSize()
	}
	var trained []*graph.Node
	for _, p := range f.trained() {
		trained, arrays = append(trained, b.Param(p)), arrays+copiesTrained*p.Value.Shape().TotalSize()
	}
	outputs := append(graph.Grad(b, s.loss, trained...), s.loss)
	for _, u := range s.updates {
		outputs = append(outputs, u.Value)
	}
	program, err := graph.Plan(b, outputs, graph.Options{Varying: append(leaves, trained...)})
	need := runtimeBytes + int64(program) + int64(b.Dtype().Size())*int64(arrays)
	if err == nil && size < f.s.BatchSize && len(s.updates) > 0 {
		err = &graph.MemoryError{What: "mfvi: a step of a network with batch norm, which needs the whole mini-batch,", Need: need, Limit: f.r.Memory}
	}
	return need, err
}

// identify says what must be equal in a run that goes on from a checkpoint.
func (f *fitting) identify(g *train.Graph) {
	g.Identify(
		"network with fingerprint "+layers.Fingerprint(f.p.Net),
		fmt.Sprintf("MF-VI, estimator %s, noise of seed %d, log std %g, prior std %g", f.s.Estimator, f.r.Seed, f.s.LogStd, f.s.PriorStd),
		fmt.Sprintf("likelihood %v with the noise variance %v", f.lik, likelihood.NoiseVariance(f.lik)),
	)
	if v := f.p.Validation; v != nil {
		g.Identify("validation inputs "+train.Checksum(v.X), "validation targets "+train.Checksum(v.Y))
	}
}

// config is that of the training loop.
func (f *fitting) config() train.Config {
	c := train.Config{
		Iterations: f.s.Iterations, Optimizer: f.s.optimizer(len(f.means.Params()), len(f.noise())), Schedule: f.s.course(),
		ValidateEvery: f.s.ValidateEvery, KeepLast: true,
		Checkpoint: f.r.Checkpoint, Resume: f.r.Resume, OnProgress: f.r.OnProgress,
	}
	if c.Checkpoint != "" {
		c.CheckpointEvery = checkpointEvery
	}
	if f.p.Validation != nil {
		c.Validate = f.validate
	}
	return c
}

// validate returns the mean negative log density of the validation rows under the means.
func (f *fitting) validate(ctx context.Context) (float64, error) {
	out, err := gp.Point{Net: f.means, Dtype: f.p.Dtype()}.Mean(ctx, f.p.Validation.X)
	if err != nil {
		return 0, err
	}
	sum, y, c := 0.0, graph.Floats(f.p.Validation.Y), f.p.Outputs()
	for i := range f.p.Validation.N() {
		sum -= f.lik.LogDensity(y[i*c:(i+1)*c], out.Float64s()[i*c:(i+1)*c])
	}
	return sum / float64(f.p.Validation.N()), nil
}

// fitted returns the result of the fit.
func (f *fitting) fitted(res *train.Result) *gp.Fitted {
	_, numbers := f.p.Likelihood.(likelihood.Gaussian)
	q := &Posterior{
		net: f.p.Net, input: f.p.Train.X.Shape()[1:].Clone(), outputs: f.p.Outputs(), classes: !numbers,
		means: f.means, stds: f.stds, samples: f.s.Samples, seed: f.r.Seed,
	}
	if f.stds == nil {
		q.samples = 1
	}
	out := &gp.Fitted{Posterior: q, NoiseVariance: likelihood.NoiseVariance(f.lik), Record: gp.Record{
		Rows: f.p.Train.N(), Untouched: true, Settings: settings.Map(&f.s), PriorStds: []float64{f.s.PriorStd}, Result: res,
	}}
	if f.p.Validation != nil {
		out.Record.ValidationRows = f.p.Validation.N()
	}
	f.report(&out.Record)
	return out
}

// littleMoved is a change of ψ that does not matter: a hundredth of a standard deviation.
const littleMoved = 0.01

// report says how far means and standard deviations have moved.
func (f *fitting) report(r *gp.Record) {
	fact := func(name string, v float64) { r.Facts = append(r.Facts, gp.Fact{Name: name, Value: v}) }
	fact("largest change of a mean", furthest(flat(f.means.Params()), flat(f.p.Net.Params())))
	if f.stds == nil {
		r.Notes = append(r.Notes, "The control without noise: the network was trained further, and nothing was learned of its uncertainty.")
		return
	}
	now, mean := flat(f.stds), 0.0
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

func dense(v []float64, shape ...int) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))
}
