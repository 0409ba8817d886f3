package sngp

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
)

// Compile implements gp.Posterior.
func (p *posterior) Compile(r gp.Request) (gp.Compiled, error) {
	if !slices.Equal(r.Shape, p.net.input) {
		return nil, fmt.Errorf("sngp: inputs of shape %v, expected %v", r.Shape, p.net.input)
	}
	b := graph.NewBuilder(p.net.dt)
	x := b.Input("x", r.Input()...)
	own := gp.Numbers(r.Size, p.head.Size()) + p.scratchBytes(r.Size)
	f, err := r.Batch(own, b, x, p.write(b, x)...)
	if err != nil {
		return nil, fmt.Errorf("sngp: %w", err)
	}
	return &compiled{p: p, own: own, latent: f, scratch: p.scratch(r.Size), phi: make([]float64, 0, r.Size*p.head.Size())}, nil
}

// compiled is the gp.Compiled of a posterior.
type compiled struct {
	p       *posterior   // whose predictions these are
	own     int64        // bytes of what follows latent
	latent  *graph.Batch // features and values
	phi     []float64    // [n,m]
	scratch              // workspace
}

// Bytes implements gp.Compiled.
func (c *compiled) Bytes() int64 { return int64(c.latent.Bytes()) + c.own }

// Predict implements gp.Compiled.
func (c *compiled) Predict(_ context.Context, x []float64, g *gp.Gaussian) error {
	out, err := c.latent.Run(x)
	if err != nil {
		return fmt.Errorf("sngp: %w", err)
	}
	n := len(x) / c.latent.Width()
	g.Resize(n, c.p.cov.Outputs, false)
	g.SetMean(out[1])
	c.phi = dense.AppendRows(c.phi[:0], out[0], n)
	c.p.cov.fill(g.Cov, c.phi, c.roots)
	if c.p.probs != nil {
		g.ResizeProbs()
		c.p.probs.fill(g.Probs, g.Mean, g.Cov, c.draws, c.link, c.p.cov.Outputs)
	}
	return nil
}
