package laplace

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
)

var _, _ gp.Estimator = (*Settings)(nil), (*SubsetSettings)(nil)

// Estimate implements gp.Estimator.
func (s *Settings) Estimate(ctx context.Context, p gp.Problem, r gp.Run) (gp.Estimate, error) {
	if err := p.Check(); err != nil {
		return gp.Estimate{}, err
	}
	start := time.Now()
	c, _, err := s.settled(ctx, p, gp.Run{Seed: r.Seed, Memory: r.Memory})
	if err != nil {
		return gp.Estimate{}, err
	}
	o := c.options(p)
	choice := time.Since(start).Seconds()
	q, plan, err := estimated(ctx, p, r, o)
	if err != nil {
		return gp.Estimate{}, err
	}
	plan.Seconds(choice)
	solves, rows := c.solves(p, o)
	q.planSolves(plan, solves, rows)
	e, err := plan.Estimate(nil)
	if err == nil && e.Seconds > gp.Long {
		s.cheaper(ctx, p, r, o, &e)
	}
	return e, cmp.Or(err, ctx.Err())
}

// cheaper names the cheaper choice in an estimate, with its time, if one takes half of the time at most: Kronecker
// factors, or fewer rows.
func (s *Settings) cheaper(ctx context.Context, p gp.Problem, r gp.Run, o options, e *gp.Estimate) {
	less, name := *s, ""
	switch {
	case o.Structure != kindKFAC && o.Structure != kindDiagonal:
		less.Structure, name = string(kindKFAC), "structure=kfac"
	case o.Subset == 0 && p.Train.N() > fewRows:
		less.Subset, name = fewRows, fmt.Sprintf("subset=%d", fewRows)
	default:
		return
	}
	if cost, err := less.Estimate(ctx, p, r); err == nil && cost.Seconds < e.Seconds/2 {
		e.Cheaper, e.CheaperSeconds = name, cost.Seconds
	}
}

// solves returns how many factorisations a fit takes as long as, and the number of examples that are predicted with
// each.
func (s *Settings) solves(p gp.Problem, o options) (solves, rows int) {
	switch {
	case s.Hyper == hyperGrid:
		return len(gridOf(p, s.NoiseStd)), p.Validation.N()
	case o.Ascent != nil && o.Priors != priorsShared:
		return o.Ascent.complete().Steps, 0
	case o.Priors != priorsShared:
		return 40, 0 // of a search in several dimensions, as measured
	case s.Hyper == hyperMarglik:
		return searched, 0
	}
	return 1, 0
}

// fewRows is the number of rows of the cheaper choice.
const fewRows = 1000

// searched is the number of factorisations that take as long as a search in one dimension, the
// factorisation after it and the effective parameters.
const searched = 4

// Estimate implements gp.Estimator.
func (s *SubsetSettings) Estimate(ctx context.Context, p gp.Problem, r gp.Run) (gp.Estimate, error) {
	if err := p.Check(); err != nil {
		return gp.Estimate{}, err
	}
	c, _, err := s.complete(p)
	if err != nil {
		return gp.Estimate{}, err
	}
	q, plan, err := estimated(ctx, p, r, options{Subset: c.Points, PriorStd: c.PriorStd})
	if err != nil {
		return gp.Estimate{}, err
	}
	q.planSolves(plan, searched, 0)
	plan.Cheaper = "a smaller value of the setting points"
	return plan.Estimate(nil)
}

// estimated returns a posterior before it has seen the data, and a plan of its sums over these. Rows of images that
// go back one by one are measured, because the data tell how many there are.
func estimated(ctx context.Context, p gp.Problem, r gp.Run, o options) (*posterior, *gp.Plan, error) {
	o.Likelihood, o.Seed, o.MemoryLimit = p.Likelihood, r.Seed, r.Memory
	d, err := newData(p.Train.X, p.Train.Y, o)
	if err != nil {
		return nil, nil, err
	}
	q, _, err := planned(p.Net, d.X.Shape()[1:].Clone(), outputs(d, o.likelihood()), d.N(), o)
	if err != nil {
		return nil, nil, err
	}
	plan, n := q.plan(), d.N()
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if k, ok := q.structure.(interface{ factorSizes() []int }); ok {
		for _, w := range k.factorSizes() {
			plan.EigenSystem(float64(w), 1)
		}
	}
	rows, err := q.newRooted()
	if err != nil {
		return nil, nil, err
	}
	if rows == nil {
		plan.Run(q.cost, float64(n)/float64(q.scan.batch))
		q.planSums(plan, float64(n))
		return q, plan, nil
	}
	took, err := rows.measured(ctx, d)
	plan.Hold(rows.bytes())
	plan.Seconds(took)
	plan.Uncounted()
	return q, plan, err
}

// measured returns how many seconds the sums over the examples d take, by a few of them.
func (r *rooted) measured(ctx context.Context, d gp.Examples) (seconds float64, err error) {
	n := d.N()
	few := min(n, r.scan.batch)
	some := gp.Examples{X: dense.Rows(d.X, 0, few)}
	r.structure.allocate()
	took, err := second(func() error {
		r.expect(n / few)
		return r.sum(ctx, some, func(batch, []float64) {})
	})
	return took * float64(n) / float64(few), err
}

// second returns how many seconds f takes, without the work that f does once.
func second(f func() error) (float64, error) {
	if err := f(); err != nil {
		return 0, err
	}
	start := time.Now()
	err := f()
	return time.Since(start).Seconds(), err
}

// plan returns a plan of the memory of the posterior.
func (p *posterior) plan() *gp.Plan {
	plan := &gp.Plan{What: "laplace: the posterior"}
	plan.Hold(p.structure.bytes() + p.cost.Bytes + p.scratchBytes())
	row := plan.Prediction()
	row.Run(p.cost, 1/float64(p.scan.batch))
	row.Hold((p.cost.Bytes+p.scratchBytes())/int64(p.scan.batch) + p.marginalBytes(1))
	if c := p.scan.outputs; p.scoresByVariance() && gp.Covariances(p.evidence.likelihood, c) < c {
		p.planSpectral(row, 1, 1)
	} else {
		p.planMarginals(row, 1, 1)
	}
	return plan
}

// planSums counts the work with which H is summed up over n examples.
func (p *posterior) planSums(plan *gp.Plan, n float64) {
	c, all := float64(p.scan.outputs), float64(p.scan.params)
	if _, ok := p.structure.(*lowRank); ok {
		plan.EigenSystem(float64(p.factorOrder()), 1)
	}
	switch h := p.full().(type) {
	case *weightSpace:
		plan.Products(n * c * all * all / 2)
	case *functionSpace:
		plan.Products(p.scan.products(n*c, n*c) / 2)
	case *denseLayer:
		plan.Products(n * float64(h.width*h.width*h.q()*h.q()) / 2)
	case interface{ factorSizes() []int }: // KFAC
		plan.Products(p.unitProducts(n))
		p.eachFactor(func(rows, width float64, rotated, _ bool) {
			if rotated {
				plan.Products(n * rows * width * width / 2)
			}
			plan.Elements(4 * n * rows * width)
		})
	default:
		p.eachFactor(func(rows, width float64, _, _ bool) { plan.Elements(4 * n * rows * width) })
		plan.Products(n * p.scan.touched())
	}
}

// unitProducts counts the products of C numbers with as many, where they take the place of products of unit vectors.
func (p *posterior) unitProducts(examples float64) float64 {
	if p.scan.unit == nil {
		return 0
	}
	return examples * float64(p.scan.outputs*p.scan.outputs)
}

// eachFactor calls f with the rows and the width of each factor of the Jacobian at an example, whether the structure
// has a basis for it, see kfac.rotates, and whether it has places. Unit vectors have no rows.
func (p *posterior) eachFactor(f func(rows, width float64, rotated, placed bool)) {
	h, rotates := p.full().(interface{ rotates(*graph.Node) bool })
	c := float64(p.scan.outputs)
	for _, g := range p.scan.groups {
		if g.d != p.scan.unit {
			places := p.scan.blocks[g.blocks[0]].places
			f(c*float64(places), float64(g.q), rotates && h.rotates(g.d), places > 1)
		}
	}
	for _, k := range p.scan.blocks {
		if k.a != nil {
			f(float64(k.places), float64(k.p), rotates && h.rotates(k.a), k.places > 1)
		}
	}
}

// planSolves counts factorisations, and the covariances of so many examples with each.
func (p *posterior) planSolves(plan *gp.Plan, solves, examples int) {
	if order := p.factorOrder(); order > 0 {
		n, times := float64(order), float64(solves)
		var factor gp.Plan
		factor.Products(n * n * n / 6)
		plan.Times(&factor, 1)
		plan.Beyond(&factor, 2*times-1) // a multiplication of a factorisation takes twice as long as one of a product
		plan.Elements(times * n * n)
	}
	if examples > 0 {
		p.planScores(plan, solves, examples)
	}
}

// planScores counts the scores of so many posteriors, each at so many examples, of which atOnce share a pass.
func (p *posterior) planScores(plan *gp.Plan, solves, examples int) {
	c, batch, all := p.scan.outputs, min(examples, p.scan.batch), float64(solves*examples)
	plan.Hold(gp.Numbers(p.factorOrder(), p.factorOrder())) // the best factor so far
	plan.Hold(p.marginalBytes(batch))
	if p.scoresByVariance() {
		plan.Beside(gp.Numbers(batch, c))
	} else {
		plan.Beside(gp.Numbers(batch, c, c))
	}
	once := min(solves, p.atOnce())
	passes := float64(examples * ((solves + once - 1) / once))
	plan.Run(p.cost, passes/float64(p.scan.batch))
	if p.scoresByVariance() {
		p.planSpectral(plan, passes, all)
	} else {
		p.planMarginals(plan, passes, all)
	}
}

// factorOrder is the order of the matrix that is factorised, and 0 if there is none.
func (p *posterior) factorOrder() int {
	if g, ok := p.full().(interface{ order() int }); ok {
		return g.order()
	}
	return 0
}

// planMarginals counts the covariances of so many examples, of which the rows of some are formed.
func (p *posterior) planMarginals(plan *gp.Plan, formed, examples float64) {
	c, n := float64(p.scan.outputs), float64(p.factorOrder())
	switch h := p.full().(type) {
	case *functionSpace:
		plan.Products(examples * (p.scan.products(c, n) + c*n*n/2 + c*c*n/2 + c*c*c/3))
	case *weightSpace:
		plan.Products(examples * (c*n*n/2 + c*c*n/2))
	case *denseLayer:
		q := float64(h.q())
		plan.Products(examples * (n*n/2 + c*q*q + c*c*q))
	default:
		p.planSpectral(plan, formed, examples)
		for _, g := range p.scan.groups {
			plan.Grams(c, float64(g.q), examples)
		}
	}
	plan.Elements(examples * c * c)
}

// planSpectral counts the factors in their bases, and the variances, of so many examples. The rows of blocks with places are formed for
// some of them, if a batch can keep the rows.
func (p *posterior) planSpectral(plan *gp.Plan, formed, examples float64) {
	p.eachFactor(func(rows, width float64, rotated, placed bool) {
		plan.Elements(3 * examples * rows * width)
		if rotated && !placed {
			plan.Products(examples * rows * width * width)
		}
	})
	for _, k := range p.scan.blocks {
		if k.places > 1 {
			times := examples
			w, before, after := k.wayOf(p.scan.outputs)
			if w != inPlaces && gp.Numbers(p.scan.batch*p.scan.outputs, k.size()) <= p.sharing() {
				times = formed
			}
			plan.Products(times*before + examples*after)
		}
	}
	plan.Products(examples*p.scan.touched() + p.unitProducts(examples))
}

// scoresByVariance reports whether score needs no covariances.
func (p *posterior) scoresByVariance() bool {
	for _, k := range p.scan.blocks {
		if k.places > 1 {
			return false
		}
	}
	return p.factorOrder() == 0 && likelihood.IsClass(p.evidence.likelihood)
}

// marginalBytes is the memory of the covariances of so many examples. A buffer is replaced by one twice as large when it is
// too small.
func (p *posterior) marginalBytes(examples int) int64 {
	c := p.scan.outputs
	switch h := p.full().(type) {
	case *functionSpace:
		if _, ok := p.structure.(*lowRank); ok {
			return gp.Numbers(examples, c, 2*h.n+p.scan.params) // with the rows that R is multiplied with
		}
		return 2 * gp.Numbers(examples, c, h.n)
	case *weightSpace:
		return gp.Numbers(examples, c, h.n)
	case *denseLayer:
		q := h.q()
		return 2 * gp.Numbers(examples*(h.width+q*q)+min(formsChunk, examples)*q*q*min(formsBlock, h.width))
	}
	return 0
}

// scratchBytes is the memory of a batch beside the program, when covariances are computed.
func (p *posterior) scratchBytes() int64 {
	c, b := p.scan.outputs, p.scan.batch
	units := int(p.unitProducts(1))
	if h, ok := p.full().(*denseLayer); ok {
		return gp.Numbers(b, h.elements()+units)
	}
	if n := p.factorOrder(); n > 0 {
		return gp.Numbers(b, c*n+units)
	}
	sum := 0.0
	p.eachFactor(func(rows, width float64, _, _ bool) { sum += rows * width })
	return gp.Numbers(b, int(sum)) + gp.Numbers(units)
}

// full is the representation of all of H, also where only the leading part of it is kept.
func (p *posterior) full() structure {
	l, ok := p.structure.(*lowRank)
	switch {
	case !ok:
		return p.structure
	case l.inner == nil:
		return &l.functionSpace
	}
	return l.inner
}
