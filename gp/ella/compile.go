package ella

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
		return nil, fmt.Errorf("ella: inputs of shape %v, expected %v", shape, p.input)
	}
	f, err := jacobian.NewDirectionalBatch(p.net, shape, p.v, size, limit)
	if err != nil {
		return nil, fmt.Errorf("ella: %w", err)
	}
	return &compiled{p: p, f: f, w: make([]float64, size*f.Outputs()*p.Rank())}, nil
}

// compiled is the gp.Compiled of a Posterior.
type compiled struct {
	p *posterior                 // the posterior that is compiled
	f *jacobian.DirectionalBatch // the network's outputs and φ
	w []float64                  // φ R [size·C,K]
}

// Bytes implements gp.Compiled.
func (c *compiled) Bytes() int64 { return c.f.Bytes() + int64(8*len(c.w)) }

// Predict implements gp.Compiled.
func (c *compiled) Predict(_ context.Context, x []float64, g *gp.Gaussian) error {
	n, out, phi, err := c.f.Run(x)
	if err != nil {
		return fmt.Errorf("ella: %w", err)
	}
	outputs, k := c.f.Outputs(), c.p.Rank()
	g.Resize(n, outputs, false)
	g.SetMean(out)
	rows := len(g.Mean)
	kernel.Gemm(false, false, rows, k, k, 1, phi, k, c.p.root, k, 0, c.w, k)
	for at := 0; at < rows; at += outputs {
		kernel.Syrk(false, outputs, k, 1, c.w[at*k:], k, 0, g.Cov[at*outputs:], outputs)
	}
	return nil
}
