package sampled

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
)

// Fit implements gp.Settings. A fit that is interrupted keeps its state in the checkpoint.
func (s *Settings) Fit(ctx context.Context, p gp.Problem, r gp.Run) (*gp.Fitted, error) {
	c, err := gp.Completed(p, s.complete)
	if err != nil {
		return nil, err
	}
	f, err := newFitting(p, r, c)
	if err != nil {
		return nil, err
	}
	if _, err := f.plan(); err != nil {
		return nil, err
	}
	if err := f.start(ctx); err != nil {
		return nil, err
	}
	loop := train.Config{Iterations: f.steps(), Checkpoint: r.Checkpoint, Resume: r.Resume, OnProgress: r.OnProgress}
	if r.Checkpoint != "" {
		loop.CheckpointEvery = f.solves() + 1 // after each maximisation
	}
	res, err := train.Run(ctx, f, loop)
	if err != nil {
		return nil, fmt.Errorf("sampled: %w", err)
	}
	return f.fitted(res)
}

// fitting is one fit under way, the objective of train.Run. Its steps are the steps of the solver
// and of the maximisation; a step that is not needed any more does nothing.
type fitting struct {
	p     gp.Problem // the problem
	r     gp.Run     // the run
	s     Settings   // complete
	limit int64      // bytes
	size  int        // P

	linear    *linear                   // the linearized network
	curvature                           // Λ of each row
	all       subset                    // the training rows
	traces    []float64                 // tr Λ of each; nil where all rows are used for all
	curved    subset                    // the rows over which M is summed
	draws                               // the right-hand sides of the samples' equations
	sketch    *sketch                   // the preconditioner
	batch     func(iteration int) []int // the rows of a mini-batch

	// The state, which checkpoints hold. The columns of zeta are samples. The columns of residual
	// are the right-hand sides of their equations minus the left-hand sides, or velocities of
	// stochastic gradients. The columns of direction are directions of the search, or averages.
	zeta, residual, direction []float64 // [S,P]
	mode                      []float64 // θ̄ [P]
	numbers                   numbers   // the rest of the state
}

// numbers belong to the state.
type numbers struct {
	Lambda  float64   `json:"lambda"`  // the prior precision λ
	Inner   []float64 `json:"inner"`   // r·P⁻¹r of each sample
	Start   float64   `json:"start"`   // the loss at the start of the last solve by stochastic gradients
	Gamma   float64   `json:"gamma"`   // of the last maximisation
	Passes  float64   `json:"passes"`  // over the data, of one sample each
	Lambdas []float64 `json:"lambdas"` // before the first maximisation and after each
}

// newFitting plans a fit, and compares the memory that the fit needs with the limit.
func newFitting(p gp.Problem, r gp.Run, s Settings) (*fitting, error) {
	f := &fitting{p: p, r: r, s: s, limit: r.Limit(), size: layers.Count(p.Net)}
	if f.size == 0 {
		return nil, fmt.Errorf("sampled: a network without parameters has no posterior")
	}
	lik := p.Likelihood
	if s.NoiseStd > 0 {
		lik = likelihood.WithNoise(lik, s.NoiseStd*s.NoiseStd)
	}
	f.curvature = curvature{lik, p.Outputs()}
	need := f.need()
	if need > f.limit {
		return nil, &graph.MemoryError{What: f.what(), Need: need, Limit: f.limit}
	}
	var err error
	f.linear, err = newLinear(p.Net, p.Dtype(), p.Train.X.Shape()[1:], p.Outputs(), min(s.Samples, kernel.Threads()), f.limit-need)
	return f, err
}

// what names the fit in errors about memory.
func (f *fitting) what() string {
	return fmt.Sprintf("sampled: %d samples of %d weights", f.s.Samples, f.size)
}

// need is the memory of the samples and of the rows' outputs.
func (f *fitting) need() int64 {
	samples := arrays*int64(f.s.Samples) + sketchArrays*int64(f.s.Rank)
	need := 8 * (samples*int64(f.size) + 4*int64(f.p.Train.N())*int64(f.p.Outputs()))
	if n := int64(f.p.Train.N()); int64(f.summed()) < n {
		need += 2 * dense.Bytes(f.p.Train.X) / n * int64(f.summed()) // rows for M, and for a Hessian
	}
	return need
}

// Arrays of a number for each weight of each sample that exist at a time: draws, state, a
// product, and the directions of a pass in two element types; and those for each draw of the
// sketch while it is made.
const (
	arrays       = 8
	sketchArrays = 4
)

// start draws what is random, and prepares the solver.
func (f *fitting) start(ctx context.Context) error {
	f.linear.tell = f.r.Tell("rows of a pass")
	defer func() { f.linear.tell = nil }() // steps report themselves
	err := f.choose(ctx)
	if err != nil {
		return err
	}
	if f.draws, err = newDraws(ctx, f.linear, f.curvature, f.curved, f.s.Samples, f.r.Seed); err != nil {
		return err
	}
	return f.prepare(ctx)
}

// choose finds the rows over which M is summed.
func (f *fitting) choose(ctx context.Context) error {
	f.all = whole(f.p.Train)
	if n := f.all.N(); n > f.summed() || n > sketchRows && f.s.Solver != solverSGD {
		f.traces = make([]float64, n)
		err := f.linear.sweep(ctx, plain, f.all.X, []int{0}, nil, nil, func(_, first int, out, _ []float64) []float64 {
			copy(f.traces[first:], f.trace(f.all, first, out))
			return nil
		})
		if err != nil {
			return err
		}
		if row, v := graph.FirstNonFinite(dense.Of(f.traces, n)); row >= 0 {
			return fmt.Errorf("sampled: training row %d has the curvature %g", row, v)
		}
	}
	f.curved = f.leading(f.traces, f.summed(), rand.New(rand.NewPCG(f.r.Seed, subsetStream)))
	return nil
}

// summed is the number of rows over which M is summed.
func (f *fitting) summed() int { return cmp.Or(f.s.Rows, f.p.Train.N()) }

// prepare makes the solver ready for the draws.
func (f *fitting) prepare(ctx context.Context) error {
	f.numbers.Lambda = 1 / (f.s.PriorStd * f.s.PriorStd)
	if f.s.PriorStd == 0 {
		f.numbers.Lambda = 1 / (f.s.EMPriorStd * f.s.EMPriorStd)
	}
	f.numbers.Lambdas = []float64{f.numbers.Lambda}
	n := f.s.Samples
	if f.s.Solver == solverSGD {
		return f.newBatches(n)
	}
	err := f.precondition(ctx)
	f.allocate(n)
	for s := range n {
		f.target(f.row(f.residual, s), s, f.numbers.Lambda)
	}
	return err
}

// allocate makes the state, of zeros.
func (f *fitting) allocate(n int) {
	f.zeta, f.residual, f.direction = make([]float64, n*f.size), make([]float64, n*f.size), make([]float64, n*f.size)
	f.mode, f.numbers.Inner = make([]float64, f.size), make([]float64, n)
}

// row is row s of an array [S,P].
func (f *fitting) row(v []float64, s int) []float64 { return v[s*f.size : (s+1)*f.size] }

// product adds M v to sum for the samples which, over the rows e; v and sum are [S,P].
func (f *fitting) product(ctx context.Context, e subset, which []int, v, sum []float64) error {
	f.numbers.Passes += float64(len(which)) * float64(e.N()) / float64(f.p.Train.N())
	return f.linear.sweep(ctx, both, e.X, which, v, sum, func(_, first int, out, along []float64) []float64 {
		return f.times(e, first, out, along)
	})
}

// solves is the number of the solver's steps for one prior precision.
func (f *fitting) solves() int {
	if f.s.Solver == solverSGD {
		return f.s.Epochs * max(1, f.p.Train.N()/f.s.BatchSize)
	}
	return f.s.Iterations
}

// steps is the number of all steps: before the last solve there are EMSteps others, with a
// maximisation after each.
func (f *fitting) steps() int { return f.s.EMSteps*(f.solves()+1) + f.solves() }

// Params implements train.Objective.
func (f *fitting) Params() []train.Param { return nil }

// State implements train.Stateful.
func (f *fitting) State() train.ObjectiveState {
	n := f.s.Samples
	return train.ObjectiveState{Numbers: &f.numbers, Arrays: []train.Array{
		{Name: "zeta", Value: dense.Of(f.zeta, n, f.size)}, {Name: "residual", Value: dense.Of(f.residual, n, f.size)},
		{Name: "direction", Value: dense.Of(f.direction, n, f.size)}, {Name: "mode", Value: dense.Of(f.mode, f.size)},
	}}
}

// Identity implements train.Identifier.
func (f *fitting) Identity() []string {
	id := []string{
		fmt.Sprintf("Sampled LLA with the seed %d, %v and the settings %v", f.r.Seed, f.lik, settings.Map(&f.s)),
		"inputs " + train.Checksum(f.p.Train.X), "targets " + train.Checksum(f.p.Train.Y),
	}
	for _, w := range f.p.Net.Params() {
		id = append(id, w.Name+" "+train.Checksum(w.Value))
	}
	return id
}

// Evaluate implements train.Objective: a step of the solver or a maximisation.
func (f *fitting) Evaluate(ctx context.Context, iteration int) (float64, error) {
	passes := f.numbers.Passes
	loss, err := f.evaluate(ctx, iteration)
	if err != nil {
		f.numbers.Passes = passes // the step is made again
	}
	return loss, err
}

// evaluate is Evaluate, and counts the passes also of a step that was interrupted.
func (f *fitting) evaluate(ctx context.Context, iteration int) (float64, error) {
	em, k := iteration/(f.solves()+1), iteration%(f.solves()+1)
	samples := f.s.EMSamples
	if em == f.s.EMSteps {
		samples = f.s.Samples
	}
	switch {
	case k == f.solves():
		err := f.maximise(ctx, samples)
		return f.numbers.Lambda, err
	case f.s.Solver == solverSGD:
		return f.descend(ctx, samples, k)
	}
	return f.conjugate(ctx, samples, k)
}

// fitted makes the posterior of the samples.
func (f *fitting) fitted(res *train.Result) (*gp.Fitted, error) {
	zeta := graph.Convert(dense.Of(f.zeta, f.s.Samples, f.size), f.p.Dtype())
	q := newPosterior(f.p.Net, f.p.Train.X.Shape()[1:].Clone(), zeta, f.limit)
	if i, v := graph.FirstNonFinite(zeta); i >= 0 {
		return nil, fmt.Errorf("sampled: weight %d of sample %d is %g", i%f.size, i/f.size, v)
	}
	out := &gp.Fitted{Posterior: q, NoiseVariance: f.s.NoiseStd * f.s.NoiseStd, Record: gp.Record{
		Rows: f.p.Train.N(), ValidationRows: f.p.Held(), Untouched: f.p.Validation != nil,
		Settings: settings.Map(&f.s), PriorStds: []float64{1 / math.Sqrt(f.numbers.Lambda)}, Result: res,
	}}
	f.describe(&out.Record)
	return out, nil
}

// describe adds what the fit found to its record.
func (f *fitting) describe(r *gp.Record) {
	r.Facts = []gp.Fact{{Name: "samples", Value: float64(f.s.Samples)}, {Name: "passes of one sample over the data", Value: f.numbers.Passes}}
	if f.curved.rows != nil {
		r.Facts = append(r.Facts, gp.Fact{Name: "rows that stand for all", Value: float64(len(f.curved.rows))})
	}
	if f.s.EMSteps > 0 {
		r.Facts = append(r.Facts, gp.Fact{Name: "effective parameters", Value: f.numbers.Gamma})
		l := f.numbers.Lambdas
		if l[len(l)-1] == f.mostLambda() {
			r.Notes = append(r.Notes, fmt.Sprintf("The prior standard deviation fell to its lower limit, %.3g: the training rows determine none of the weights of the linear model, "+
				"so that the posterior has next to no variance. A prior-std gives it one.", 1/math.Sqrt(f.numbers.Lambda)))
		} else if math.Abs(math.Log(l[len(l)-1]/l[len(l)-2])) > 0.1 {
			r.Notes = append(r.Notes, fmt.Sprintf("The prior standard deviation still changed from %.3g to %.3g in the last of %d em-steps.",
				1/math.Sqrt(l[len(l)-2]), 1/math.Sqrt(l[len(l)-1]), f.s.EMSteps))
		}
	}
	if f.s.Solver == solverSGD {
		return
	}
	worst := slices.Max(f.errors(dense.Indices(f.s.Samples)))
	r.Facts = append(r.Facts, gp.Fact{Name: "largest error of a sample, in standard deviations", Value: worst})
	if worst > f.s.Tolerance {
		r.Notes = append(r.Notes, fmt.Sprintf("Conjugate gradients ended after %d iterations with an error of %.2g standard deviations of a sample, above the tolerance %g.", f.s.Iterations, worst, f.s.Tolerance))
	}
}
