package laplace

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// Compile implements gp.Posterior.
func (p *posterior) Compile(r gp.Request) (gp.Compiled, error) {
	if want := p.scan.x.Shape()[1:]; !want.Eq(tensor.Shape(r.Shape)) {
		return nil, fmt.Errorf("laplace: inputs of shape %v, the posterior was fitted to inputs of shape %v each", r.Shape, want)
	}
	s, err := newScanner(p.scan.net, p.scan.in.Shape()[1:], p.scan.outputs, r.Size, p.scan.keep, nil)
	if err != nil {
		return nil, err
	}
	s.sameUnit(p.scan)
	d, err := s.draft(s.nodes())
	if err != nil {
		return nil, err
	}
	working := p.marginalBytes(r.Size)
	if f, ok := p.predictor.(spectralPredictor); ok {
		working = f.marginalBytes(r.Size)
	} else if s.unit != nil {
		working += gp.Numbers(r.Size, s.outputs, s.outputs) // of unitRows, which spectral predictors do without
	}
	if need := d.Bytes() + working; r.Limit > 0 && need > r.Limit {
		return nil, &graph.MemoryError{What: fmt.Sprintf("laplace: a prediction of %d examples", r.Size), Need: need, Limit: r.Limit}
	}
	if err := s.compileDraft(d, s.nodes()); err != nil {
		return nil, err
	}
	s.alias(p.scan)
	return &compiled{p: p, s: s, marginal: r.Marginal, working: working}, nil
}

// compiled is the gp.Compiled of a posterior.
type compiled struct {
	p *posterior // whose predictions are computed
	s *scanner   // compiled for the inputs of one prediction

	marginal bool  // predictions have variances alone
	working  int64 // memory that predictions take beside the program, at the least
}

// Bytes implements gp.Compiled.
func (c *compiled) Bytes() int64 {
	return int64(c.s.program.Bytes()) + max(c.working, int64(8*(len(c.s.units)+c.s.double.size())+4*c.s.single.size()))
}

// repeatLast fills v from element n on with copies of the last row before it: at a row of zeros a network may be NaN,
// which products with the other rows would spread.
func repeatLast[T float32 | float64](v []T, n, size int) {
	for at := n; at < len(v); at += size {
		copy(v[at:at+size], v[n-size:n])
	}
}

// Predict implements gp.Compiled.
func (c *compiled) Predict(ctx context.Context, x []float64, g *gp.Gaussian) error {
	size := c.s.inputSize()
	b := batch{scanner: c.s, ctx: ctx, count: len(x) / size}
	if len(x)%size != 0 || b.count < 1 || b.count > c.s.batch {
		return fmt.Errorf("laplace: %d numbers, expected 1 to %d inputs of %d each", len(x), c.s.batch, size)
	}
	if c.s.float == tensor.Float64 {
		copy(c.s.x.Float64s(), x)
		repeatLast(c.s.x.Float64s(), len(x), size)
	} else {
		convert(c.s.x.Float32s()[:len(x)], x)
		repeatLast(c.s.x.Float32s(), len(x), size)
	}
	if err := b.run(); err != nil {
		return err
	}
	return c.p.predict(b, g, c.marginal)
}
