package sfr

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/settings"
	"gorgonia.org/tensor"
)

const (
	// pointStream is the random stream of a seed that draws the points.
	pointStream = 41
)

// Fit implements gp.Settings. It writes no checkpoints.
func (s *Settings) Fit(ctx context.Context, p gp.Problem, r gp.Run) (*gp.Fitted, error) {
	c, err := gp.Completed(p, s.complete)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(r.Seed, pointStream))
	rows := rng.Perm(p.Train.N())[:min(c.Points, p.Train.N())]
	return fitAt(ctx, p, r, c, data.TakeRows(p.Train.X, rows))
}

// fitAt fits with complete settings and the given points.
func fitAt(ctx context.Context, p gp.Problem, r gp.Run, s Settings, points *tensor.Dense) (*gp.Fitted, error) {
	if _, err := s.plan(p, r); err != nil {
		return nil, err
	}
	f := &fitting{p: p, r: r, s: s, candidates: s.candidates(p)}
	if err := f.start(points); err != nil {
		return nil, err
	}
	if s.NoiseStd > 0 {
		p.Likelihood = likelihood.WithNoise(p.Likelihood, s.NoiseStd*s.NoiseStd)
	}
	d, err := newDuals(ctx, p, likelihood.WithNoise(p.Likelihood, 1), f.q.joint, s.Clip)
	if err != nil {
		return nil, err
	}
	if err := f.sum(ctx, d); err != nil {
		return nil, err
	}
	return f.fitted()
}

// fitting is one fit under way.
type fitting struct {
	p          gp.Problem     // the problem
	r          gp.Run         // the run
	s          Settings       // complete
	candidates []gp.Candidate // standard deviations that are compared
	q          *posterior     // the posterior to be
	trial      *trial         // nil without validation rows
}

// start makes the posterior before there are data.
func (f *fitting) start(points *tensor.Dense) error {
	f.q = &posterior{
		net: f.p.Net, points: points, outputs: f.p.Outputs(), joint: f.s.Outputs == outputsJoint,
		own: f.s.OwnMean, clip: f.s.Clip, limit: f.r.Limit(),
	}
	if f.p.Validation != nil {
		f.trial = newTrial(f.candidates, *f.p.Validation, f.q.outputs, f.q.own)
	}
	return f.q.compile(f.q.limit - trialBytes(len(f.candidates), f.q.outputs, f.p.Validation))
}

// sum takes in the data, part by part.
func (f *fitting) sum(ctx context.Context, d *duals) error {
	for part := range f.q.kernels.parts() {
		s, err := f.q.factored(ctx, part)
		if err != nil {
			return err
		}
		if err := d.addTo(ctx, f.q.kernels, part, s, f.report(part)); err != nil {
			return err
		}
		if f.trial != nil {
			if err := f.trial.add(ctx, f.q.kernels, part, s); err != nil {
				return fmt.Errorf("sfr: validation rows: %w", err)
			}
		}
		f.q.systems = append(f.q.systems, s)
	}
	return nil
}

// report returns a function that tells how far a pass over the rows is; each part is one.
func (f *fitting) report(part int) func(done int) {
	return reporter(f.r, f.p.Train.N(), part, f.q.kernels.parts())
}

// reporter reports n rows that are passed over parts times as n rows.
func reporter(r gp.Run, n, part, parts int) func(done int) {
	return func(done int) {
		r.Tell("rows")((part*n+done+parts-1)/parts, n)
	}
}

// fitted makes the posterior of the best candidate.
func (f *fitting) fitted() (*gp.Fitted, error) {
	found, nll := f.candidates[0], math.NaN()
	if f.trial != nil {
		var err error
		if found, nll, err = f.trial.best(f.p.Likelihood); err != nil {
			return nil, err
		}
	}
	f.q.prior = found.Prior
	for _, s := range f.q.systems {
		s.scale(1 / (found.Noise * found.Noise))
	}
	effective, err := f.q.solve()
	if err != nil {
		return nil, err
	}
	out := &gp.Fitted{Posterior: f.q, Record: f.record(found, effective, nll)}
	if likelihood.NoiseVariance(f.p.Likelihood) > 0 {
		out.NoiseVariance = found.Noise * found.Noise
		f.q.noise = out.NoiseVariance
	}
	return out, nil
}

// record says how the fit went, which chose the candidate found.
func (f *fitting) record(found gp.Candidate, effective, nll float64) gp.Record {
	r := gp.Record{Rows: f.p.Train.N(), Settings: settings.Map(&f.s), PriorStds: []float64{f.q.prior}}
	fact := func(name string, v float64) { r.Facts = append(r.Facts, gp.Fact{Name: name, Value: v}) }
	fact("points", float64(f.q.points.Shape()[0]))
	fact("effective parameters", effective)
	fact("jitter", f.q.jitter())
	if f.trial != nil {
		fact("validation NLL", nll)
		r.ValidationRows, r.Untouched = f.p.Validation.N(), len(f.candidates) == 1
	}
	r.Notes = f.notes(found)
	return r
}

// notes says where the fit differs from its settings and from other methods, and where a wider grid may do better.
func (f *fitting) notes(found gp.Candidate) (notes []string) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if m := f.q.points.Shape()[0]; m < f.s.Points {
		note("%d points instead of %d: there are no more rows to draw from.", m, f.s.Points)
	}
	if j := f.q.jitter(); j > 0 {
		note("The kernel among the points is singular: %g of its mean diagonal was added to it. Points lie upon each other, or there are more of them than weights; fewer points would do (the setting points). "+
			"Where the prior variance of an output is more than %.0e times the noise variance, variances come out too large.", j, 1/j)
	}
	if g := f.s.PriorGrid; len(g) > 1 && (f.q.prior == slices.Min(g) || f.q.prior == slices.Max(g)) {
		note("The best prior standard deviation, %g, is at an end of prior-grid.", f.q.prior)
	}
	all := f.candidates
	return append(notes, gp.EndOfGrid("noise", found.Noise, all[0].Noise, all[len(all)-1].Noise, "the setting noise-std")...)
}
