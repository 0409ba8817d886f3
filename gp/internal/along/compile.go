package along

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/jacobian"
)

// Compile implements gp.Posterior.
func (p *Posterior) Compile(shape []int, size int, limit int64) (gp.Compiled, error) {
	if !slices.Equal(shape, p.Input) {
		return nil, fmt.Errorf("%s: inputs of shape %v, expected %v", p.Name, shape, p.Input)
	}
	f, err := jacobian.NewDirectionalBatch(p.Net, shape, p.V, size, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	c := &compiled{p: p, f: f}
	if p.Root != nil {
		c.w = make([]float64, size*f.Outputs()*p.Rank())
	}
	return c, nil
}

// compiled is the gp.Compiled of a Posterior.
type compiled struct {
	p *Posterior                 // the posterior that is compiled
	f *jacobian.DirectionalBatch // the network's outputs and φ
	w []float64                  // W = φ R [size·C,K]; nil where R is the identity
}

// Bytes implements gp.Compiled.
func (c *compiled) Bytes() int64 { return c.f.Bytes() + int64(8*len(c.w)) }

// Predict implements gp.Compiled.
func (c *compiled) Predict(_ context.Context, x []float64, g *gp.Gaussian) error {
	n, out, w, err := c.f.Run(x)
	if err != nil {
		return fmt.Errorf("%s: %w", c.p.Name, err)
	}
	outputs, k := c.f.Outputs(), c.p.Rank()
	g.Resize(n, outputs, false)
	g.SetMean(out)
	if c.w != nil {
		w = c.p.rooted(c.w, w)
	}
	for at := 0; at < len(g.Mean); at += outputs {
		kernel.Syrk(false, outputs, k, c.p.Scale, w[at*k:], k, 0, g.Cov[at*outputs:], outputs)
	}
	return nil
}
