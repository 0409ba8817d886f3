package laplace

import (
	"context"
	"fmt"
	"time"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/dense"
)

var _, _ gp.Estimator = (*Settings)(nil), (*SubsetSettings)(nil)

// Estimate implements gp.Estimator: it evaluates the network for one batch, and counts the
// multiplications of matrices.
func (s *Settings) Estimate(ctx context.Context, p gp.Problem, r gp.Run) (gp.Estimate, error) {
	if err := p.Check(); err != nil {
		return gp.Estimate{}, err
	}
	start := time.Now()
	c, _, err := s.settled(ctx, p, gp.Run{Seed: r.Seed, Memory: r.Memory})
	if err != nil {
		return gp.Estimate{}, err
	}
	choice := time.Since(start).Seconds()
	o := c.options(p)
	q, e, err := estimated(ctx, p, r, o)
	if err != nil {
		return e, err
	}
	solves, rows := 1, 0
	switch {
	case c.Hyper == hyperGrid:
		solves, rows = len(grid{NoiseStds: c.gridNoises(o.NoiseStd)}.points(q)), p.Validation.N()
	case o.Ascent != nil && o.Priors != priorsShared:
		solves = o.Ascent.complete().Steps
	case o.Priors != priorsShared:
		solves = 40 // of a search in several dimensions, as measured
	case c.Hyper == hyperMarglik:
		solves = searched
	}
	e.Seconds += choice + float64(solves)*q.solving(rows)/gp.Speed()
	if e.Seconds > gp.Long {
		s.cheaper(ctx, p, r, o, &e)
	}
	return e, ctx.Err()
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
	q, e, err := estimated(ctx, p, r, options{Subset: c.Points, PriorStd: c.PriorStd})
	if err != nil {
		return e, err
	}
	e.Seconds += searched * q.solving(0) / gp.Speed()
	e.Cheaper = "a smaller value of the setting points"
	return e, nil
}

// estimated returns a posterior before it has seen the data, and what its sums over these take.
func estimated(ctx context.Context, p gp.Problem, r gp.Run, o options) (*posterior, gp.Estimate, error) {
	o.Likelihood, o.Seed, o.MemoryLimit = p.Likelihood, r.Seed, r.Memory
	d, err := newData(p.Train.X, p.Train.Y, o)
	if err != nil {
		return nil, gp.Estimate{}, err
	}
	q, err := unfitted(p.Net, d, o)
	if err != nil {
		return nil, gp.Estimate{}, err
	}
	e := gp.Estimate{Bytes: q.structure.bytes() + int64(q.scan.program.Bytes())}
	n := d.N()
	few := min(n, q.scan.batch)
	some := gp.Examples{X: dense.Rows(d.X, 0, few)}
	pass := func() error { return q.scan.each(ctx, some.X, q.scan.readable) }
	rows, err := q.newRooted()
	if err != nil {
		return nil, e, err
	}
	if rows != nil {
		e.Bytes = q.structure.bytes() + rows.bytes()
		q.structure.allocate()
		pass = func() error {
			rows.expect(n / few)
			return rows.sum(ctx, some, func(batch, []float64) {})
		}
	}
	took, err := second(pass)
	e.Seconds = took*float64(n)/float64(few) + q.summing(float64(n))/gp.Speed()
	return q, e, err
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

// readable forms the Jacobian rows of an example where that takes no more than the batch itself.
func (s *scanner) readable(b batch) error {
	if len(s.blocks) == 0 || b.size()*s.params > 1<<22 {
		return nil
	}
	return b.jacobian(make([]float64, b.size()*s.params), s.params)
}

// summing is the number of multiplications with which H is summed up over n examples.
func (p *posterior) summing(n float64) float64 {
	c, all := float64(p.scan.outputs), float64(p.scan.params)
	switch h := p.full().(type) {
	case *weightSpace:
		return n * c * all * all / 2
	case *functionSpace:
		return p.scan.products(n*c, n*c) / 2
	case *denseLayer:
		return n * float64(h.width*h.width*h.q()*h.q()) / 2
	}
	return 0 // factors and diagonals take no longer than the network
}

// solving is the number of multiplications of a factorisation with its effective parameters, and
// of the covariances of some examples.
func (p *posterior) solving(examples int) float64 {
	rows, all := float64(examples*p.scan.outputs), float64(p.scan.params)
	factor := func(order int, products float64) float64 {
		n := float64(order)
		return n*n*n/3 + rows*n*n/2 + products
	}
	switch h := p.full().(type) {
	case *functionSpace:
		return factor(h.n, p.scan.products(rows, float64(h.n)))
	case *weightSpace:
		return factor(h.n, rows*float64(h.n)*all)
	case *denseLayer:
		return factor(h.n, rows*float64(h.n)*all)
	}
	return 0
}

// full is the representation of all of H, also where only the leading part of it is kept.
func (p *posterior) full() structure {
	if l, ok := p.structure.(*lowRank); ok {
		return l.inner
	}
	return p.structure
}
