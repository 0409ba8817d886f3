package valla

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/internal/steps"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// validation evaluates all rungs on examples held out: all examples, or some examples that are drawn
// as mini-batches are, once for all validations.
type validation struct {
	held  int                   // how many examples are held out
	lik   likelihood.Likelihood // of the fit
	x     *tensor.Dense         // inputs of the examples that are evaluated, [n,…]
	y     []float64             // targets of these examples, [n,W·C]
	add   []float64             // variances that are added to the layer's, [n,C]
	share []float64             // weights [n], which sum to about 1
	each  *graph.Batched        // see evaluation
	term  *steps.DataTerm       // the log predictive density, α = 1

	temperatures []float64 // of the logits of classes, which each trial is compared at; 1 alone where there are none

	rests bool        // Z rests, and what each computes is the same at all validations
	kept  []evaluated // what each has computed for all examples, where Z rests
}

// evaluated are the values of examples, from number first on, see evaluation.
type evaluated struct {
	first, rows int
	out         []*tensor.Dense
}

// All validations together take validationShare of the operations of all steps, but they look at
// at least leastValidated outputs of the examples, where there are that many. On Fashion-MNIST
// (2,000 steps) 5,000 outputs gave an NLL of 0.3543 ± 0.0004 and all outputs 0.3540 ± 0.0001.
const validationShare, leastValidated = 0.5, 5000

// bound is how many examples a validation looks at.
func (v *validation) bound(n *natural) int {
	if n.inputs == nil {
		return v.held
	}
	return n.validated(v.rowsFor(n, 1))
}

// validated is how many examples a validation looks at, where so many take as many operations as a step. Where Z rests they are
// computed once for all validations, and kept.
func (n *natural) validated(step float64) int {
	rows := validationShare * step * float64(n.loop.ValidateEvery)
	if n.s.FixInducing {
		rows = max(rows, min(validationShare*step*float64(n.loop.Iterations), float64(mostKept/n.keptWidth())))
	}
	return max(int(rows), leastValidated/n.outputs, 1)
}

// rowsFor returns how many examples take as many operations as so many steps.
func (v *validation) rowsFor(n *natural, steps float64) float64 {
	return steps * float64(n.inputs.stepFlops()) / float64(v.each.Flops())
}

// newValidation draws the examples and compiles the network, the kernel and the likelihood.
func (n *natural) newValidation(ctx context.Context) (*validation, error) {
	held := *n.p.Validation
	add, v := n.orZeros(n.others.held, held.N()), &validation{held: held.N(), lik: n.lik, temperatures: n.temperatures()}
	each, size, err := n.evaluation(n.likeliest, held.N())
	if err != nil {
		return nil, err
	}
	v.each = each
	if v.term, err = steps.NewDataTerm(n.lik, 1, size, n.outputs, n.dt); err != nil {
		return nil, err
	}
	d, err := n.drawn(ctx, held, 1, v.bound(n), held.N())
	if err != nil {
		return nil, err
	}
	if d.upTo != nil {
		held, add = held.Rows(d.rows), data.TakeRows(add, d.rows)
	}
	v.x, v.y, v.add, v.share = held.X, graph.Floats(held.Y), graph.Floats(add), d.weights
	v.rests = n.keeps(v.x.Shape()[0])
	kernel.Scale(v.share, 1/float64(v.held), v.share)
	return v, nil
}

// temperatures are those at which the trials of a validation are compared.
func (n *natural) temperatures() []float64 {
	if n.p.Tempered && likelihood.IsClass(n.lik) {
		return calibrate.Temperatures()
	}
	return []float64{1}
}

// evaluation compiles the network, the diagonals of κ̂ and k̂, see [Layer.kernels], for so many inputs, as many at a time as the memory
// allows, and returns how many that are.
func (n *natural) evaluation(likeliest, inputs int) (*graph.Batched, int, error) {
	return batched("the validation of a natural-gradient fit", inputs, (n.memory+1)/2, n.evaluations(likeliest, true))
}

// mostKept bounds the numbers that are kept where Z rests.
const mostKept = 1 << 22

// keptWidth is how many numbers a validation computes for an example: outputs, diagonals of κ̂, k̂, and the places of the
// likeliest classes.
func (n *natural) keptWidth() int {
	return n.outputs + cmp.Or(n.likeliest, n.outputs)*(n.layer.Inducing()+1) + n.likeliest
}

// keeps says whether validations of so many examples keep what they compute.
func (n *natural) keeps(rows int) bool { return n.s.FixInducing && rows*n.keptWidth() <= mostKept }

// evaluate calls visit with the values of all examples, batch by batch. Where Z rests they are computed once.
func (v *validation) evaluate(ctx context.Context, visit func(first, rows int, out []*tensor.Dense) error) error {
	for _, e := range v.kept {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := visit(e.first, e.rows, e.out); err != nil {
			return err
		}
	}
	if v.kept != nil {
		return nil
	}
	var all []evaluated
	v.each.Refresh()
	err := v.each.Each(ctx, v.x, func(first, rows int, out []*tensor.Dense) error {
		if v.rests {
			all = append(all, evaluated{first, rows, copied(out, rows)})
		}
		return visit(first, rows, out)
	})
	if err == nil {
		v.kept = all
	}
	return err
}

// copied returns copies of the first rows of tensors.
func copied(of []*tensor.Dense, rows int) (to []*tensor.Dense) {
	for _, t := range of {
		to = append(to, dense.Rows(t, 0, rows).Clone().(*tensor.Dense))
	}
	return to
}

// indifferent is the σ₀ that costs half a nat over all rows held out, and so does 1/indifferent:
// the cost of a σ₀ is ½ (log σ₀/log indifferent)², as a log-normal prior around 1 has it. Where the
// rows cannot tell one σ₀ from another, as a few rows between others cannot, σ₀ would otherwise
// come to lie anywhere, and often where there are no error bars. Where they can, the cost moves
// σ₀ by next to nothing.
const indifferent = 10.0

// values returns the mean negative log predictive density of each trial, +Inf for a σ₀ so large that rounding hides the
// variance, and the robust values by which σ₀ is chosen, see [gp.Robust]. With many rows, and without noise around the
// function, as with classes, both are the same: a row that is wrong and sure counts. A trial that may have a temperature has the
// best one, with its cost.
func (v *validation) values(ctx context.Context, n *natural, trials []trial) (values, robust []float64, err error) {
	s := v.newSums(len(trials))
	c, width := n.outputs, n.outputs*n.width
	err = v.evaluate(ctx, func(first, rows int, out []*tensor.Dense) error {
		mean, diag, k := dense.AppendRows(nil, out[0], rows), dense.AppendRows(nil, out[1], rows), dense.AppendRows(nil, out[2], rows)
		y, add, share := v.y[first*width:(first+rows)*width], v.add[first*c:(first+rows)*c], v.share[first:first+rows]
		anyway, err := v.anyway(trials[0].params, y, mean, add, share)
		if err != nil {
			return err
		}
		trials[0].whiten(k)
		places := placesOf(out, rows)
		var w []float64
		for i, p := range trials {
			if i == 0 || &p.u[0] != &trials[i-1].u[0] { // a search tries many σ₀ with the same T
				p.mem.Free()
				w = p.rotate(k)
			}
			q := p.variance(p.scale, diag, w)
			s.left[i] += kernel.Sum(q)
			s.prior[i] += p.scale * kernel.Sum(diag)
			if places != nil {
				q = widened(q, places, rows, c)
			}
			kernel.Add(q, q, add)
			if err := s.add(i, p.params, y, mean, q, share, anyway); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	values, robust = s.best()
	passOver(values, s.left, s.prior, digits*dense.Epsilon(n.dt)/2)
	passOver(robust, s.left, s.prior, digits*dense.Epsilon(n.dt)/2)
	return values, robust, nil
}

// placesOf returns the places [rows,K] of the likeliest classes among what a validation computes, and nil where all are derived.
func placesOf(out []*tensor.Dense, rows int) []float64 {
	if len(out) < 4 {
		return nil
	}
	return dense.AppendRows(nil, out[3], rows)
}

// widened returns variances of all c classes of examples, of variances q of the likeliest classes, which have places.
func widened(q, places []float64, rows, c int) []float64 {
	var g gp.Gaussian
	g.ResizeFor(rows, c, false, true)
	g.Widen(gp.Gaussian{Mean: q, Cov: q, Marginal: len(q) / rows}, places)
	return g.Cov
}

// robust reports whether one row may lie anywhere when σ₀ is chosen, see [gp.Robust]: where there is noise around the function
// and few rows are held out.
func (v *validation) robust() bool { return likelihood.Noisy(v.lik) && v.held <= gp.RobustRows }

// anyway returns the largest log density [n] of targets y [n,W·C] with any variance of the latent function, to which the
// variances add [n,C] are added; nil where the choice of σ₀ is not robust.
func (v *validation) anyway(params, y, mean, add, share []float64) (best []float64, err error) {
	if !v.robust() {
		return nil, nil
	}
	unit, q := cmp.Or(likelihood.NoiseVariance(v.lik), 1), make([]float64, len(mean))
	for _, times := range gp.AnyVariance {
		for i := range q {
			q[i] = times*(unit+add[i]) + add[i]
		}
		if err := v.term.Run(params, y, mean, q, share); err != nil {
			return nil, err
		}
		terms := v.term.Terms(len(share))
		if best == nil {
			best = slices.Clone(terms)
		}
		for i, x := range terms {
			best[i] = max(best[i], x)
		}
	}
	return best, nil
}

// choice returns robust values with the costs of their σ₀, by which σ₀ is chosen.
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

// some returns a validation by at most n of the examples of v, at equal distances, because the examples may be sorted. Its values
// are parts of the sums over all examples.
func (v *validation) some(n int) *validation {
	all := len(v.share)
	if n >= all {
		return v
	}
	few, rows := *v, make([]int, n)
	for i := range rows {
		rows[i] = i * all / n
	}
	take := func(of []float64) []float64 {
		width := len(of) / all
		out := make([]float64, n*width)
		data.Gather(out, of, width, rows)
		return out
	}
	few.x, few.y, few.add, few.share = data.TakeRows(v.x, rows), take(v.y), take(v.add), take(v.share)
	few.rests, few.kept = false, nil
	return &few
}
