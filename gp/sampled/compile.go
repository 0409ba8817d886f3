package sampled

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/jacobian"
)

// Compile implements gp.Posterior.
func (p *posterior) Compile(shape []int, size int, limit int64) (gp.Compiled, error) {
	if !slices.Equal(shape, p.input) {
		return nil, fmt.Errorf("sampled: inputs of shape %v, expected %v", shape, p.input)
	}
	f, err := jacobian.NewDirectionalBatch(p.net, shape, p.zeta, size, limit)
	if err != nil {
		return nil, fmt.Errorf("sampled: %w", err)
	}
	return &compiled{f: f, samples: p.Samples()}, nil
}

// compiled is the gp.Compiled of a Posterior.
type compiled struct {
	f       *jacobian.DirectionalBatch // the network's outputs and J ζ
	samples int                        // S
}

// Bytes implements gp.Compiled.
func (c *compiled) Bytes() int64 { return c.f.Bytes() }

// Predict implements gp.Compiled.
func (c *compiled) Predict(_ context.Context, x []float64, g *gp.Gaussian) error {
	n, out, along, err := c.f.Run(x)
	if err != nil {
		return fmt.Errorf("sampled: %w", err)
	}
	outputs, s := c.f.Outputs(), c.samples
	g.Resize(n, outputs, false)
	g.SetMean(out)
	for at := 0; at < len(g.Mean); at += outputs {
		kernel.Syrk(false, outputs, s, 1/float64(s), along[at*s:], s, 0, g.Cov[at*outputs:], outputs)
	}
	return nil
}
