package laplace

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/dense"
)

var _ gp.Summed = (*posterior)(nil)

// partial are the sums H and the evidence of a posterior that is not finished.
type partial struct {
	*posterior       // without factor and predictor
	hyper      hyper // the hyper-parameters of the fit to the sample
}

// Sums implements gp.Summed: H is a sum over examples, and so is the evidence. The whole of H is
// kept in weight space. The structure LowRank has left out what such a sum needs.
// A noise that is not Gaussian stays the noise of p.
func (p *posterior) Sums(l likelihood.Likelihood, r gp.Run) (gp.Sums, error) {
	if _, ok := p.structure.(*lowRank); ok {
		return nil, fmt.Errorf("laplace: the structure %v keeps the leading eigenvectors of H, which are no sum over examples; the others are", kindLowRank)
	}
	h := p.Header()
	if l.String() != h.Likelihood {
		return nil, fmt.Errorf("laplace: the likelihood %s, the posterior has %s", l, h.Likelihood)
	}
	if h.Structure == kindFull {
		h.Space = spaceWeights
	}
	h.Limit = cmp.Or(r.Memory, h.Limit)
	q, err := p.again(h, math.MaxInt32, likelihood.WithNoise(l, p.hyper.noise*p.hyper.noise))
	if err != nil {
		return nil, err
	}
	return &partial{q, p.hyper}, q.addWeights()
}

// Add implements gp.Sums.
func (s *partial) Add(ctx context.Context, e gp.Examples) error {
	d, err := newData(e.X, e.Y, options{Likelihood: s.evidence.likelihood})
	if err == nil && outputs(d, s.evidence.likelihood) != s.scan.outputs {
		err = fmt.Errorf("laplace: %d targets, the posterior has %d outputs", d.Y.Shape()[1], s.scan.outputs)
	}
	if err != nil {
		return err
	}
	return s.add(ctx, d, nil)
}

// Each implements gp.Sums.
func (s *partial) Each(visit func(name string, v *[]float64, shape ...int) error) error {
	total := []float64{s.evidence.residuals, s.evidence.logLik}
	if err := visit("evidence", &total, 2); err != nil {
		return err
	}
	s.evidence.residuals, s.evidence.logLik = total[0], total[1]
	return s.structure.sums(visit)
}

// Finish implements gp.Sums.
func (s *partial) Finish(ctx context.Context, n int, held *gp.Examples) (*gp.Fitted, error) {
	q := s.posterior
	q.examples, q.evidence.observations = n, float64(n)*float64(q.scan.outputs)
	if k, ok := q.structure.(interface{ counted(int) }); ok {
		k.counted(n)
	}
	if err := q.finish(ctx); err != nil {
		return nil, err
	}
	q, err := q.with(ctx, s.hyper)
	if err != nil {
		return nil, err
	}
	given := map[string]any{"hyper": hyperFixed, "ascent-steps": nil, "ascent-rate": nil, "subset": nil}
	of := gp.Problem{Likelihood: q.evidence.likelihood, Validation: held}
	if held != nil {
		given["hyper"], given["prior-std"] = hyperGrid, nil
		noise := q.NoiseStd()
		if q.evidence.gaussian() { // the sums of another likelihood belong to one noise
			given["noise-std"] = nil
			noise = 0
		}
		if q, err = q.gridSearch(ctx, *held, gridOf(of, noise)); err != nil {
			return nil, err
		}
	}
	f, err := q.fitted(ctx, of, given, nil)
	if q.subset { // SubsetSettings has no other settings; the record of f shares given
		maps.DeleteFunc(given, func(name string, _ any) bool { return name != "prior-std" })
		given["points"] = nil
	}
	return f, err
}

// sums of the lower triangle of H.
func (w *weightSpace) sums(visit visitor) error {
	if err := w.flush(context.Background()); err != nil {
		return err
	}
	return packed(visit, w.a, w.n)
}

func (h *denseLayer) sums(visit visitor) error { return packed(visit, h.outer, h.n) }

// packed visits the lower triangle of a [n,n].
func packed(visit visitor, a []float64, n int) error {
	v := dense.PackLower(n, a)
	if err := visit("h", &v, dense.Packed(n)); err != nil {
		return err
	}
	for i := range n {
		v = v[copy(a[i*n:i*n+i+1], v):]
	}
	return nil
}

func (f *functionSpace) sums(visitor) error {
	return fmt.Errorf("laplace: the examples in function space are no sum")
}

func (h *diagonal[T]) sums(visit visitor) error {
	for i, k := range h.blocks {
		if err := h.totals[i].visit(visit, k.param.Name+".h", k.shape()...); err != nil {
			return err
		}
	}
	return nil
}

// sums hands visit the sum of each factor by itself. A factor has the name of the first parameter
// that the factor belongs to.
func (h *kfac[T]) sums(visit visitor) error {
	for _, p := range h.parts {
		if err := h.moments[p.n].visit(visit, factorName(p.k, p.n), p.shape()...); err != nil {
			return err
		}
	}
	return nil
}

// counted notes the number of examples.
func (h *kfac[T]) counted(n int) { h.examples = n }

// visit visits the sum.
func (t *total[T]) visit(visit visitor, name string, shape ...int) error {
	v := slices.Clone(t.all())
	if err := visit(name, &v, shape...); err != nil {
		return err
	}
	copy(t.sum, v)
	return nil
}
