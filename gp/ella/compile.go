package ella

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

var _ gp.Compiler = (*Posterior)(nil)

// Compile implements gp.Compiler.
func (p *Posterior) Compile(shape []int, size int, limit int64) (gp.Compiled, error) {
	b, x, out, phi, err := written(p.net, shape, p.v, size)
	if err != nil {
		return nil, fmt.Errorf("ella: %w", err)
	}
	f, err := graph.NewBatchWithin(limit, b, x, out, phi)
	if err != nil {
		return nil, fmt.Errorf("ella: %w", err)
	}
	n := size * out.Shape()[1] * p.Rank()
	return &compiled{p: p, f: f, c: out.Shape()[1], phi: make([]float64, n), w: make([]float64, n)}, nil
}

// compiled is the gp.Compiled of a Posterior.
type compiled struct {
	p      *Posterior
	f      *graph.Batch // the network's outputs and φ
	c      int
	phi, w []float64 // φ and φ R, [size·C,K]
}

// Bytes implements gp.Compiled.
func (c *compiled) Bytes() int64 { return int64(c.f.Bytes() + 16*len(c.w)) }

// Latents implements gp.Compiled.
func (c *compiled) Latents(_ context.Context, x []float64, g *gp.Latents) error {
	out, err := c.f.Run(x)
	if err != nil {
		return fmt.Errorf("ella: %w", err)
	}
	g.Resize(len(x)/c.f.Width(), c.c, false)
	g.SetMean(out[0])
	rows, k := len(g.Mean), c.p.Rank()
	if out[1].Dtype() == tensor.Float64 {
		copy(c.phi, out[1].Float64s())
	} else {
		for i, v := range out[1].Float32s() {
			c.phi[i] = float64(v)
		}
	}
	kernel.Gemm(false, false, rows, k, k, 1, c.phi, k, c.p.root, k, 0, c.w, k)
	for at := 0; at < rows; at += c.c {
		kernel.Syrk(false, c.c, k, 1, c.w[at*k:], k, 0, g.Cov[at*c.c:], c.c)
	}
	return nil
}
