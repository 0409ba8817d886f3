package ella

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/internal/along"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/eigen"
	"github.com/go-valla/valla/internal/fault"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// Fit implements gp.Settings. It writes no checkpoints.
func (s *Settings) Fit(ctx context.Context, p gp.Problem, r gp.Run) (*gp.Fitted, error) {
	c, err := gp.Completed(p, s.complete)
	if err != nil {
		return nil, err
	}
	return fitAt(ctx, p, r, c, c.draw(p, r.Seed))
}

// fitAt fits with complete settings and the given points. Where ctx ends after a look at
// the validation rows, the best state so far is returned with its error.
func fitAt(ctx context.Context, p gp.Problem, r gp.Run, s Settings, at points) (*gp.Fitted, error) {
	if _, err := s.plan(p, r, at); err != nil {
		return nil, err
	}
	f := &fitting{p: p, r: r, s: s, limit: r.Limit(), candidates: s.candidates(p)}
	err := f.start(ctx, at)
	if err == nil {
		err = f.pass(ctx)
	}
	if err != nil && (f.best == nil || ctx.Err() == nil || !errors.Is(err, ctx.Err())) {
		return nil, err
	}
	out, finish := f.fitted()
	if finish != nil {
		return nil, finish
	}
	return out, err
}

// fitting is one fit under way.
type fitting struct {
	p          gp.Problem     // the problem
	r          gp.Run         // the run
	s          Settings       // complete
	limit      int64          // bytes
	candidates []gp.Candidate // standard deviations that are compared

	points   points                // their Jacobians give the directions
	spectrum spectrum              // of the points' kernel
	v        *tensor.Dense         // [K,P]
	features *jacobian.Directional // computes outputs and features of rows
	held     *heldOut              // nil without validation rows
	sums     *curvature            // G of the rows seen
	seen     int                   // rows
	best     *state                // nil before the first
}

// state is a posterior to be.
type state struct {
	gp.Candidate           // σ₀ and σ
	g            []float64 // with unit noise
	seen         int       // rows
	nll          float64   // of the validation rows; NaN without
}

// start finds the directions and computes the features of the validation rows.
func (f *fitting) start(ctx context.Context, at points) error {
	f.points = at
	m := at.n()
	k, err := kernelOf(ctx, f.p.Net, at, f.limit-eigen.LargestBytes(m, min(m, f.s.Rank)), f.tell(unitKernel))
	if err != nil {
		return err
	}
	if f.spectrum, err = leading(k, m, f.s.Rank, f.p.Dtype()); err != nil {
		return err
	}
	if f.v, err = directions(ctx, f.p.Net, at, f.spectrum, f.limit, f.tell(unitDirections)); err != nil {
		return err
	}
	return f.prepare(ctx)
}

// checkOutputs compares the network's outputs with the targets.
func checkOutputs(p gp.Problem) error {
	_, _, err := gp.CheckInputs(p.Net, p.Train.X.Shape()[1:], p.Outputs())
	return fault.In("ella", err)
}

// prepare compiles the features, and computes the features of the validation rows.
func (f *fitting) prepare(ctx context.Context) error {
	k, left := f.v.Shape()[0], f.limit-dense.Bytes(f.v)
	if held := f.p.Validation; held != nil {
		left -= heldOutBytes(held.N(), f.p.Outputs(), k)
	}
	var err error
	if f.features, err = jacobian.NewDirectional(f.p.Net, f.p.Train.X.Shape()[1:], f.v, along.Batch, left); err != nil {
		return err
	}
	if held := f.p.Validation; held != nil {
		if f.held, err = newHeldOut(ctx, f.features, *held, f.p.Likelihood, f.tell(unitHeld)); err != nil {
			return fmt.Errorf("ella: validation rows: %w", err)
		}
	}
	f.sums = newCurvature(k, f.p.Likelihood)
	return nil
}

// pass sums the curvature over the training rows. With early stopping it goes through them
// in random order and looks at the validation rows in between, otherwise at the end.
func (f *fitting) pass(ctx context.Context) error {
	n := f.p.Train.N()
	if !f.s.EarlyStopping {
		if err := f.add(ctx, f.p.Train); err != nil {
			return err
		}
		return f.consider()
	}
	order := rand.New(rand.NewPCG(f.r.Seed, orderStream)).Perm(n)
	for rows := range slices.Chunk(order, f.s.CheckEvery) {
		if err := f.add(ctx, f.p.Train.Rows(rows)); err != nil {
			return err
		}
		if err := f.consider(); err != nil {
			return err
		}
	}
	return nil
}

// add adds rows to the curvature.
func (f *fitting) add(ctx context.Context, e gp.Examples) error {
	err := f.sums.addRows(ctx, f.features, e, func(n int) {
		f.seen += n
		f.tell(unitRows)(f.seen, f.p.Train.N())
	})
	return fault.In(fmt.Sprintf("ella: after %d training rows", f.seen), err)
}

// The units of progress, in the order of the work.
const (
	unitKernel     = "blocks of the points' kernel"
	unitDirections = "parts of the directions"
	unitHeld       = "validation rows"
	unitRows       = "rows"
)

// untold hears of progress and says nothing.
func untold(int, int) {}

// tell is the run's Tell, with the best validation value so far.
func (f *fitting) tell(unit string) func(done, total int) {
	return func(done, total int) {
		if f.r.OnProgress == nil {
			return
		}
		v := math.NaN()
		if f.best != nil {
			v = f.best.nll
		}
		f.r.OnProgress(train.Progress{Unit: unit, Done: done, Total: total, Loss: math.NaN(), Validation: v})
	}
}

// consider keeps the curvature so far if it predicts the validation rows better than what
// was kept, with the prior in proportion to the rows seen.
func (f *fitting) consider() error {
	p, err := newPrecision(f.sums.k, f.sums.g)
	if err != nil {
		return fmt.Errorf("ella: eigenvalues of G after %d rows: %w", f.seen, err)
	}
	now := state{Candidate: f.candidates[0], seen: f.seen, nll: math.NaN()}
	if f.held != nil {
		if now.Candidate, now.nll, err = f.held.best(p, f.share(f.seen), f.candidates); err != nil {
			return err
		}
	}
	if f.best == nil || now.nll < f.best.nll {
		now.g = slices.Clone(f.sums.g)
		f.best = &now
	}
	return nil
}

// share is the part of the training rows that was seen.
func (f *fitting) share(seen int) float64 { return float64(seen) / float64(f.p.Train.N()) }

// fitted makes the posterior of the best state.
func (f *fitting) fitted() (*gp.Fitted, error) {
	noise := f.best.Noise * f.best.Noise
	g := slices.Clone(f.best.g)
	kernel.Scale(g, 1/noise, g)
	q := &posterior{
		Posterior: inDirections(f.p.Net, f.p.Train.X.Shape()[1:].Clone(), f.v, f.limit), g: g,
		prior: f.best.Prior, share: f.share(f.best.seen), points: f.points.n(), at: f.points,
	}
	q.Features = f.features
	if err := q.finish(); err != nil {
		return nil, err
	}
	out := &gp.Fitted{Posterior: q, Record: f.record(q)}
	if likelihood.NoiseVariance(f.p.Likelihood) > 0 {
		out.NoiseVariance = noise
	}
	return out, nil
}

// record says how the fit went.
func (f *fitting) record(q *posterior) gp.Record {
	r := gp.Record{Rows: f.best.seen, ValidationRows: f.p.Held(), Settings: settings.Map(&f.s), PriorStds: []float64{q.prior}}
	fact := func(name string, v float64) { r.Facts = append(r.Facts, gp.Fact{Name: name, Value: v}) }
	fact("points", float64(f.points.n()))
	fact("directions", float64(q.Rank()))
	fact("share of the points' variance", kernel.Sum(f.spectrum.values)/f.spectrum.trace)
	fact("effective parameters", q.precision.effective(q.prior, q.share))
	if f.held != nil {
		fact("validation NLL", f.best.nll)
	}
	r.Notes = f.notes(q)
	return r
}

// notes says where the fit differs from its settings, and where a wider grid may do better.
func (f *fitting) notes(q *posterior) (notes []string) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if m := f.points.n(); m < f.s.Points {
		note("%d points instead of %d: there are no more rows to draw from.", m, f.s.Points)
	}
	if k := q.Rank(); k < f.s.Rank {
		note("%d directions instead of %d: the other eigenvalues of the points' kernel are 0 up to rounding.", k, f.s.Rank)
	}
	if g := f.s.PriorGrid; len(g) > 1 && (q.prior == slices.Min(g) || q.prior == slices.Max(g)) {
		note("The best prior standard deviation, %g, is at an end of prior-grid.", q.prior)
	}
	all := f.candidates
	return append(notes, gp.EndOfGrid("noise", f.best.Noise, all[0].Noise, all[len(all)-1].Noise, "the setting noise-std")...)
}
