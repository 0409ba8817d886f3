package valla

import (
	"context"
	"math"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// validation evaluates all rungs on examples held out: all of them, or some that are drawn as
// mini-batches are, once for all validations.
type validation struct {
	held  int // how many examples are held out
	x     *tensor.Dense
	y     []float64
	add   []float64      // variances that are added to the layer's, [n,C]
	share []float64      // weights [n], which sum to about 1
	each  *graph.Batched // network, the diagonals of κ̂, and k̂
	local *local         // the log predictive density, α = 1
}

// All validations together take validationShare of the operations of all steps, but they look at
// leastValidated outputs of the examples at least, where there are so many. On Fashion-MNIST
// (2,000 steps) 5,000 outputs gave an NLL of 0.3543 ± 0.0004 and all of them 0.3540 ± 0.0001.
const validationShare, leastValidated = 0.5, 5000

// bound is how many examples a validation looks at.
func (v *validation) bound(n *natural) int {
	if n.inputs == nil {
		return v.held
	}
	_, step := n.inputs.program.Flops()
	all := validationShare * float64(n.inputs.parts*step*n.f.Config.ValidateEvery)
	return max(int(all/float64(v.each.Flops())), leastValidated/n.outputs, 1)
}

// newValidation draws the examples and compiles the network, the kernel and the likelihood.
func (n *natural) newValidation(ctx context.Context) (*validation, error) {
	x, y, add := n.f.ValidationX, n.f.ValidationY, n.beside(n.f.ValidationBeside, n.f.ValidationY)
	v := &validation{held: x.Shape()[0]}
	each, size, err := n.evaluation(x.Shape()[1:])
	if err != nil {
		return nil, err
	}
	v.each = each
	if v.local, err = newLocal(n.f.Likelihood, 1, size, n.outputs, n.dt); err != nil {
		return nil, err
	}
	d, err := n.drawn(ctx, x, y, v.bound(n))
	if err != nil {
		return nil, err
	}
	if d.upTo != nil {
		x, y, add = data.TakeRows(x, d.rows), data.TakeRows(y, d.rows), data.TakeRows(add, d.rows)
	}
	v.x, v.y, v.add, v.share = x, graph.Floats(y), graph.Floats(add), d.weights
	kernel.Scale(v.share, 1/float64(v.held), v.share)
	return v, nil
}

// drawn returns mini-batches of size examples, with the first one loaded.
func (n *natural) drawn(ctx context.Context, x, y *tensor.Dense, size int) (*draws, error) {
	scores := make([]float64, x.Shape()[0])
	if size < len(scores) {
		var err error
		if scores, err = n.scores(ctx, x, y); err != nil {
			return nil, err
		}
	}
	d, err := newDraws(scores, size, n.f.Seed)
	if err == nil {
		d.load(0)
	}
	return d, err
}

// evaluation compiles the network, κ̂ and k̂ for inputs of a shape, as many at a time as the
// memory allows, and returns how many that are.
func (n *natural) evaluation(shape tensor.Shape) (*graph.Batched, int, error) {
	l := n.f.Layer
	var b *graph.Builder
	var xn *graph.Node
	var outputs []*graph.Node
	size, err := tile("the validation of a natural-gradient fit", n.f.MemoryLimit/2, func(size int) (int64, error) {
		b = graph.NewBuilder(n.dt)
		xn = b.Input("x", append([]int{size}, shape...)...)
		outputs = []*graph.Node{n.f.Net.Forward(b, xn), gp.Variances(l.Kernel, b, xn), l.Kernel.Cross(b, xn, b.Param(l.Z), l.Class)}
		bytes, err := graph.Plan(b, outputs, graph.Options{Varying: []*graph.Node{xn}})
		return int64(bytes), err
	})
	if err != nil {
		return nil, 0, err
	}
	each, err := graph.NewBatched(b, xn, outputs...)
	if err != nil {
		return nil, 0, err
	}
	if n.f.MemoryLimit > 0 {
		each.Limit(n.f.MemoryLimit / 2)
	}
	return each, size, nil
}

// indifferent is the σ₀ that costs half a nat over all rows held out, and so does 1/indifferent:
// the cost of a σ₀ is ½ (log σ₀/log indifferent)², that of a log-normal prior around 1. Where the
// rows cannot tell one σ₀ from another, as a few rows between others cannot, σ₀ would otherwise
// come to lie anywhere, and often where there are no error bars. Where they can, the cost moves
// σ₀ by next to nothing.
const indifferent = 10.0

// values returns the mean negative log predictive density of each trial, +Inf for a σ₀ so
// large that rounding hides the variance.
func (v *validation) values(ctx context.Context, n *natural, trials []trial) ([]float64, error) {
	v.each.Refresh()
	values, left, prior := make([]float64, len(trials)), make([]float64, len(trials)), make([]float64, len(trials))
	c := n.outputs
	err := v.each.Each(ctx, v.x, func(first, rows int, out []*tensor.Dense) error {
		mean, diag, k := dense.AppendRows(nil, out[0], rows), dense.AppendRows(nil, out[1], rows), dense.AppendRows(nil, out[2], rows)
		trials[0].whiten(k)
		var w []float64
		for i, p := range trials {
			if i == 0 || &p.u[0] != &trials[i-1].u[0] { // a search tries many σ₀ with the same T
				p.mem.Free()
				w = p.rotate(k)
			}
			q := p.variance(p.scale, diag, w)
			left[i] += kernel.Sum(q)
			kernel.Add(q, q, v.add[first*c:(first+rows)*c])
			if err := v.local.run(p.params, v.y[first*c:(first+rows)*c], mean, q, v.share[first:first+rows]); err != nil {
				return err
			}
			values[i] -= v.local.sum()
			prior[i] += p.scale * kernel.Sum(diag)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	passOver(values, left, prior, digits*rounding(n.dt))
	return values, nil
}

// choice returns values with the costs of their σ₀, by which σ₀ is chosen.
func (v *validation) choice(values []float64, trials []trial) []float64 {
	out := make([]float64, len(values))
	for i, p := range trials {
		away := math.Log(p.scale) / 2 / math.Log(indifferent)
		out[i] = values[i] + away*away/float64(2*v.held)
	}
	return out
}

// digits is how many times the variance must exceed what rounding may add to it. The
// variance is the difference of a large prior variance and what the data take away from it;
// where little is left it is noise, and a fit would follow the noise. With 1e3 a float32 fit
// ended at σ₀ = 17 and negative variances.
const digits = 1e4

// rounding is the largest relative error of rounding to an element type.
func rounding(dt tensor.Dtype) float64 {
	if dt == tensor.Float32 {
		return 0x1p-24
	}
	return 0x1p-53
}

// passOver makes the values of rungs infinite where less than the fraction least is left of
// the prior variance. Where all rungs are like that it changes nothing.
func passOver(values, left, prior []float64, least float64) {
	lost := func(i int) bool { return !(left[i] >= least*prior[i]) }
	all := true
	for i := range values {
		all = all && lost(i)
	}
	for i := range values {
		if lost(i) && !all {
			values[i] = math.Inf(1)
		}
	}
}

// compare evaluates the rungs: their values, and those by which σ₀ is chosen.
func (n *natural) compare(ctx context.Context) (values, choice []float64, err error) {
	spectra, err := n.presentSpectra()
	if err != nil {
		return nil, nil, err
	}
	trials := n.ladder.trials(spectra)
	if values, err = n.check.values(ctx, n, trials); err != nil {
		return nil, nil, err
	}
	return values, n.check.choice(values, trials), nil
}

// settled is the share of all iterations before which the ladder stays where the scan has put it.
// Until T has seen much of the data the variances of large σ₀ are far too large, and a ladder that
// is moved by them falls and becomes narrow below the best σ₀.
const settled = 0.05

// validate implements train.Config.Validate: it compares the rungs and moves the ladder
// around the best scale. The value is that of the best rung before the move.
func (n *natural) validate(ctx context.Context) (float64, error) {
	values, choice, err := n.compare(ctx)
	if err != nil {
		return 0, err
	}
	best := n.ladder.choose(choice)
	if done, all := n.ladder.numbers.Done, n.f.Config.Iterations; float64(done) >= settled*float64(all) {
		n.ladder.climb(choice, leastStep(done, all))
	}
	return values[best], nil
}

// search moves the ladder between validations, at most once after the same number of steps.
// With validation examples it scans before the first step. Without any it compares the
// objectives, as often as a validation would take place.
func (n *natural) search(ctx context.Context, done int) error {
	cfg := n.f.Config
	switch {
	case n.ladder.rungs() == 1:
		return nil
	case n.check != nil && done == 0:
		return n.scan(ctx)
	case n.check != nil || done == 0 || done%cfg.ValidateEvery != 0 || n.ladder.numbers.Searched == done:
		return nil
	}
	choice := append([]float64(nil), n.ladder.losses.Float64s()[:n.ladder.rungs()]...)
	n.ladder.choose(choice)
	n.ladder.climb(choice, leastStep(done, cfg.Iterations))
	n.ladder.numbers.Searched = done
	return nil
}

// leastStep is the least ratio of neighbouring scales when done of all iterations are made.
func leastStep(done, all int) float64 {
	if 2*done < all {
		return middleStep
	}
	return lastStep
}

// presentSpectra are those of the present Z and T.
func (n *natural) presentSpectra() ([]*spectrum, error) {
	f, err := n.presentFrame()
	if err != nil {
		return nil, err
	}
	spectra, err := n.ladder.spectra(f, true)
	if err == nil {
		n.ladder.remember()
	}
	return spectra, err
}

// presentFrame is that of the present Z.
func (n *natural) presentFrame() (*frame, error) {
	b, l := graph.NewBuilder(n.dt), n.f.Layer
	gram := l.Kernel.Gram(b, b.Param(l.Z), l.Class)
	p, err := graph.Compile(b, []*graph.Node{gram}, graph.Options{})
	if err != nil {
		return nil, err
	}
	if err := p.Run(); err != nil {
		return nil, err
	}
	f, err := newFrame(n.ladder.m, graph.Floats(p.Value(gram)), leastJitter(n.dt))
	if err == nil {
		n.jitter = max(n.jitter, f.jitter)
	}
	return f, err
}

// export sets the layer's L and σ₀ and the likelihood's parameters to those of the leading
// rung; without validation examples that is the rung of the smallest objective.
func (n *natural) export() error {
	if n.check == nil && n.ladder.rungs() > 1 {
		n.ladder.choose(append([]float64(nil), n.ladder.losses.Float64s()[:n.ladder.rungs()]...))
	}
	spectra, err := n.presentSpectra()
	if err != nil {
		return err
	}
	lead := n.ladder.lead()
	root, err := spectra[lead].root(n.ladder.scale(lead))
	if err != nil {
		return err
	}
	n.f.Layer.setL(root)
	n.f.Layer.LogPriorStd.Set(0, n.ladder.logStd.Float64s()[lead])
	unflat(n.f.Likelihood.Params(), n.ladder.params(lead))
	return nil
}
