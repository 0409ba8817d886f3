package gapa

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/settings"
	"gorgonia.org/tensor"
)

const (
	// lengthRows is among how many rows the distances are measured for the length-scale.
	lengthRows = 512
	// rowStream is the random stream of a seed that draws rows.
	rowStream = 41
)

// Fit implements gp.Settings. It writes no checkpoints.
func (s *Settings) Fit(ctx context.Context, p gp.Problem, r gp.Run) (*gp.Fitted, error) {
	c, err := gp.Completed(p, s.complete)
	if err != nil {
		return nil, err
	}
	f := &fitting{p: p, r: r, s: c, limit: r.Limit()}
	if _, err := f.plan(); err != nil {
		return nil, err
	}
	if f.loss, err = newLoss(p, c.NoiseStd); err == nil {
		err = f.run(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("gapa: %w", err)
	}
	return f.fitted(), nil
}

// fitting is one fit under way.
type fitting struct {
	p     gp.Problem // the problem
	r     gp.Run     // the run
	s     Settings   // complete
	limit int64      // bytes
	loss             // of the targets

	site       shifted // the layer that gets the processes
	order      []int   // the training rows, in random order
	memory     *memory // the rows that are kept
	rows, held *sample // nil without
	learners   int     // rows by which the variances are learned
	done       int     // rows

	scales []float64 // c² [d]
	by     mixture   // the factor and the noise variance
	value  float64   // loss of the validation rows; NaN without
}

// run finds the numbers of the posterior.
func (f *fitting) run(ctx context.Context) error {
	f.order = rand.New(rand.NewPCG(f.r.Seed, rowStream)).Perm(f.p.Train.N())
	if err := f.remember(ctx); err != nil {
		return err
	}
	if err := f.sample(ctx); err != nil {
		return err
	}
	f.by = mixture{factor: 1, noise: cmp.Or(f.s.NoiseStd*f.s.NoiseStd, likelihood.NoiseVariance(f.p.Likelihood))}
	if err := f.scale(ctx); err != nil {
		return err
	}
	return f.mix()
}

// place finds the layer.
func (f *fitting) place() error {
	input := f.p.Train.X.Shape()[1:]
	at, number, err := siteOf(f.p.Net, input, f.p.Dtype(), f.s.Layer)
	if err != nil {
		return err
	}
	f.s.Layer, f.site = number, newShifted(at, f.p.Dtype())
	return nil
}

// fits sets how many rows the variances are learned by, as far as the memory allows.
func (f *fitting) fits() error {
	c, d := f.p.Outputs(), f.site.width()
	f.s.Cached = min(f.s.Cached, f.p.Train.N())
	need := int64(f.s.Cached)*int64(d*int(f.p.Dtype().Size())+8) + nearestBytes(f.s.Neighbours, f.s.Cached, d) + f.centreBytes()
	if held := f.p.Validation; held != nil {
		need += sampleBytes(held.N(), c, d)
	}
	if f.s.Scales == scalesLearned {
		one := sampleBytes(1, c, d) + gp.Numbers(lossArrays, c)
		need += one
		if f.learners = int(min(int64(f.s.ScaleRows), int64(f.p.Train.N()), max(0, f.limit*3/4-need)/one)); f.learners == 0 {
			need = max(need, (need+one)/3*4+4) // of which three quarters have room for a row
		}
	} else {
		need += gp.Numbers(f.s.Cached, d) // the activations that the scales are computed of
	}
	if need > f.limit || f.s.Scales == scalesLearned && f.learners == 0 {
		return &graph.MemoryError{What: fmt.Sprintf("%d values at %d rows and their derivatives", d, f.s.Cached), Need: need, Limit: f.limit}
	}
	return nil
}

// remember keeps the values at the training rows, and finds the length-scale.
func (f *fitting) remember(ctx context.Context) error {
	m, d := f.s.Cached, f.site.width()
	z := tensor.New(tensor.Of(f.p.Dtype()), tensor.WithShape(m, d))
	p, err := newPass(f.site, f.p.Train.X.Shape()[1:], f.limit-dense.Bytes(z), nothing)
	if err != nil {
		return err
	}
	if p.c != f.p.Outputs() {
		return fmt.Errorf("the network has %d outputs, the targets have %d", p.c, f.p.Outputs())
	}
	err = p.each(ctx, f.p.Train.X, f.order[:m], func(first, n int, out []*tensor.Dense) error {
		f.report(n)
		dense.Put(z, first, out[0], 0, n)
		return nil
	})
	if err != nil {
		return err
	}
	if i, v := graph.FirstNonFinite(z); i >= 0 {
		return fmt.Errorf("training row %d has the value %g in layer %d, expected finite numbers", f.order[i/d], v, f.s.Layer)
	}
	f.memory = &memory{index: newIndex(z), neighbours: f.s.Neighbours, length: f.s.LengthScale, noise: f.s.RelativeNoise}
	if f.memory.length == 0 {
		f.memory.length = 2 * firstQuartile(data.TakeRows(z, dense.Indices(min(lengthRows, m))))
	}
	if m == 1 && f.memory.length == 0 {
		return errors.New("one row has no distances, expected more rows or a length-scale")
	}
	if !(f.memory.length > 0) {
		return fmt.Errorf("a quarter of the rows have equal values in layer %d, expected different ones or a length-scale", f.s.Layer)
	}
	f.s.LengthScale = f.memory.length
	return f.memory.group(min(f.s.Centres, m))
}

// sample computes the rows by which the variances are learned, and the validation rows.
func (f *fitting) sample(ctx context.Context) error {
	if f.learners == 0 && f.p.Validation == nil {
		return nil
	}
	p, err := newPass(f.site, f.p.Train.X.Shape()[1:], f.limit/4, f.site.derivatives)
	if err != nil {
		return err
	}
	if f.learners > 0 {
		own := func(i int) int {
			if i < f.memory.m {
				return i
			}
			return -1
		}
		if f.rows, err = newSample(ctx, p, f.memory, f.p.Train, f.order[:f.learners], own, f.report); err != nil {
			return fmt.Errorf("training rows: %w", err)
		}
	}
	if held := f.p.Validation; held != nil {
		if f.held, err = newSample(ctx, p, f.memory, *held, nil, none, f.report); err != nil {
			return fmt.Errorf("validation rows: %w", err)
		}
	}
	return nil
}

// scale finds the variances c², and with them the noise variance.
func (f *fitting) scale(ctx context.Context) (err error) {
	if f.s.Scales == scalesSpread {
		f.scales, err = f.spread(ctx)
		return err
	}
	l := newLearning(f.loss, f.rows, f.held, f.by, f.freeNoise())
	if f.scales, f.by.noise, err = l.run(ctx, f.s.ScaleSteps); err != nil {
		return err
	}
	for j, v := range f.scales {
		if !kernel.Finite(v) {
			return fmt.Errorf("the learned variance of activation %d is %g, expected a finite number", j, v)
		}
	}
	return nil
}

// freeNoise reports whether the fit finds the noise variance and other parameters of the observation model.
func (f *fitting) freeNoise() bool { return !f.classes && f.s.NoiseStd == 0 && !f.p.KnownNoise }

// spread returns the variances of the activations at the rows that are kept.
func (f *fitting) spread(ctx context.Context) ([]float64, error) {
	a := make([]float64, 0, f.memory.m*f.memory.d)
	b := graph.NewBuilder(f.p.Dtype())
	x := b.Input("u", predictBatch, f.memory.d)
	out := x
	if f.site.phi != nil {
		out = f.site.phi.Forward(b, x)
	}
	all, err := graph.NewBatched(b, x, b.Scale(out, 1))
	if err != nil {
		return nil, err
	}
	err = all.Each(ctx, f.memory.z, func(_, n int, out []*tensor.Dense) error {
		a = dense.AppendRows(a, out[0], n)
		return nil
	})
	return spread(a, f.memory.d, leastSpread), err
}

// mix chooses the factor, the noise and the share of the other posterior.
func (f *fitting) mix() error {
	if f.value = math.NaN(); f.held == nil {
		f.by.factor = cmp.Or(f.s.Factor, 1)
		return nil
	}
	own := f.held.variances(f.scales)
	var err error
	f.by, f.value, err = f.held.best(f.loss, own, f.mixtures())
	return err
}

// mixtures lists what is tried on the validation rows.
func (f *fitting) mixtures() []mixture {
	factors := []float64{f.s.Factor}
	if f.s.Factor == 0 {
		factors = gp.LogSpaced(1./64, 64, 49)
	}
	return mixtures(factors, f.noises())
}

// noises lists the noise variances that are tried on the validation rows.
func (f *fitting) noises() []float64 {
	if residual := likelihood.NoiseVariance(f.p.Likelihood); f.freeNoise() && residual > 0 {
		return gp.LogSpaced(residual/16, 16*residual, 17)
	}
	return []float64{f.by.noise}
}

// report tells that n more rows went through the network.
func (f *fitting) report(n int) {
	f.done += n
	f.r.Tell("rows")(f.done, f.s.Cached+f.learners+f.p.Held())
}

// fitted makes the posterior.
func (f *fitting) fitted() *gp.Fitted {
	q := &posterior{
		net: f.p.Net, site: f.site, layer: f.s.Layer, input: f.p.Train.X.Shape()[1:].Clone(),
		memory: f.memory, scales: f.scales, factor: f.by.factor, limit: f.limit, order: f.order,
	}
	if f.law != nil {
		return gp.Learned(q, f.law.with(f.by.noise), f.record())
	}
	out := &gp.Fitted{Posterior: q, Record: f.record()}
	if !f.classes {
		out.NoiseVariance = f.by.noise
	}
	return out
}

// record says how the fit went.
func (f *fitting) record() gp.Record {
	r := gp.Record{Rows: f.s.Cached, ValidationRows: f.p.Held(), Settings: settings.Map(&f.s), PriorStds: []float64{math.Sqrt(f.by.factor * kernel.Mean(f.scales))}}
	fact := func(name string, v float64) { r.Facts = append(r.Facts, gp.Fact{Name: name, Value: v}) }
	fact("values of the layer", float64(f.memory.d))
	fact("length-scale", f.memory.length)
	fact("factor", f.by.factor)
	if f.rows != nil {
		fact("r of left-out training rows", kernel.Mean(f.rows.r))
	}
	if f.held != nil {
		fact("r of validation rows", kernel.Mean(f.held.r))
		fact("validation NLL", f.value)
	}
	r.Notes = f.notes()
	return r
}

// notes says where the fit differs from its settings, and where another factor may do better.
func (f *fitting) notes() (notes []string) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if n := min(f.s.ScaleRows, f.p.Train.N()); f.learners < n {
		note("The variances were learned by %d rows instead of %d: the memory has no room for more.", f.learners, n)
	}
	if f.s.Factor == 0 && f.held != nil && (f.by.factor < 1./63 || f.by.factor > 63) {
		note("The best factor of the variances, %.3g, is at an end of those that are tried.", f.by.factor)
	}
	if all := f.noises(); f.held != nil {
		notes = append(notes, gp.EndOfGrid("noise", math.Sqrt(f.by.noise), math.Sqrt(all[0]), math.Sqrt(all[len(all)-1]), "the setting noise-std")...)
	}
	return notes
}
