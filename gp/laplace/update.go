package laplace

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
)

// Update implements gp.Updater: H is a sum over examples, and so is the evidence. Update adds the
// terms of the new examples. The hyper-parameters stay. An update takes a pass over the new
// examples and a factorisation. The structure LowRank has left out what an update needs, which is
// an error. A posterior of SubsetMethod becomes the posterior of the subset and the new examples.
func (p *posterior) Update(ctx context.Context, more gp.Problem, r gp.Run) (gp.Stored, error) {
	if err := more.Check(); err != nil {
		return nil, err
	}
	if _, ok := p.structure.(*lowRank); ok {
		return nil, fmt.Errorf("laplace: the structure %v keeps the leading eigenvectors of H, to which rows cannot be added exactly; with the others they can", kindLowRank)
	}
	h, l := p.Header(), p.evidence.at(p.hyper.noise)
	if own := more.Likelihood.String(); own != h.Likelihood {
		return nil, fmt.Errorf("laplace: examples with the likelihood %s, the posterior has %s", own, h.Likelihood)
	}
	d, err := newData(more.Train.X, more.Train.Y, options{Likelihood: l})
	if err != nil {
		return nil, err
	}
	if c, shape := outputs(d, l), d.X.Shape()[1:]; c != h.Outputs || !slices.Equal(shape, h.Input) {
		return nil, fmt.Errorf("laplace: examples of shape %v with %d targets, the posterior was fitted to %v with %d", shape, c, h.Input, h.Outputs)
	}
	h.Examples, h.Limit = h.Examples+d.N(), cmp.Or(r.Memory, h.Limit)
	q, err := p.again(h, h.Examples, l)
	if err != nil {
		return nil, err
	}
	q.evidence.residuals, q.evidence.logLik, q.evidence.weights = h.Residuals, h.LogLikelihood, p.evidence.weights
	q.structure.resume(p.structure)
	if err := q.take(ctx, d, r.Tell("rows")); err != nil {
		return nil, err
	}
	return q.with(ctx, p.hyper)
}

// again returns a posterior like p, with the header h and the likelihood l, that has seen none of n
// examples.
func (p *posterior) again(h header, n int, l likelihood.Likelihood) (*posterior, error) {
	q, err := unfitted(p.scan.net.(layers.Part).Network, h.Input, h.Outputs, n, h.options(l))
	if err != nil {
		return nil, err
	}
	q.ascent, q.subset = p.ascent, p.subset
	q.structure.allocate()
	return q, nil
}

func (w *weightSpace) resume(old structure) {
	copy(w.a, old.(*weightSpace).a)
}

func (h *denseLayer) resume(old structure) {
	from, at := old.(*denseLayer).a, h.at()
	for r, u := range at {
		for c, v := range at[:r+1] {
			h.outer[h.index(u, v)] = from[r*h.n+c]
		}
	}
}

func (f *functionSpace) resume(old structure) {
	from := old.(*functionSpace)
	f.rows.(heldRows).resume(from.rows)
	f.x, f.start = slices.Clone(from.x), from.n/f.outputs
}

func (h *diagonal[T]) resume(old structure) {
	for i, t := range h.totals {
		copy(t.sum, old.(*diagonal[T]).h[i])
	}
}

// resume computes the moments again from their eigenvectors.
func (h *kfac[T]) resume(old structure) {
	from := old.(*kfac[T])
	for i, p := range from.parts {
		m, n := h.moments[h.parts[i].n].sum, p.width
		over := float64(from.over(p))
		if p.squares {
			kernel.Scale(m, over, from.values[p.n])
			continue
		}
		scaled := slices.Clone(from.basis[p.n])
		for k := range scaled {
			scaled[k] *= from.values[p.n][k%n] * over
		}
		kernel.Gemm(false, true, n, n, n, 1, scaled, n, from.basis[p.n], n, 0, m, n)
	}
}
