package gapa

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fault"
)

// Compile implements gp.Posterior.
func (p *posterior) Compile(r gp.Request) (gp.Compiled, error) {
	if !slices.Equal(r.Shape, p.input) {
		return nil, fmt.Errorf("gapa: inputs of shape %v, expected %v", r.Shape, p.input)
	}
	pass, err := p.site.write(r.Shape, r.Size, p.covariance())
	if err != nil {
		return nil, fmt.Errorf("gapa: %w", err)
	}
	remains := newRemains(p.memory, 1)
	f, err := r.Batch(remains.bytes(), pass.Builder, pass.X, pass.Outputs...)
	return &compiled{p: p, f: f, remains: remains}, fault.In("gapa", err)
}

// compiled is the gp.Compiled of a posterior.
type compiled struct {
	p       *posterior   // the posterior that is compiled
	f       *graph.Batch // u, the outputs and J diag(c²) Jᵀ
	remains *remains     // computes r
}

// Bytes implements gp.Compiled.
func (c *compiled) Bytes() int64 { return int64(c.f.Bytes()) + c.remains.bytes() }

// Predict implements gp.Compiled.
func (c *compiled) Predict(_ context.Context, x []float64, g *gp.Gaussian) error {
	out, err := c.f.Run(x)
	if err != nil {
		return fmt.Errorf("gapa: %w", err)
	}
	n := len(x) / c.f.Width()
	r, err := c.remains.at(out[0], n, none)
	if err != nil {
		return fmt.Errorf("gapa: predict: %w", err)
	}
	c.p.fill(g, out, r)
	return nil
}
