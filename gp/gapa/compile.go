package gapa

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

var _ gp.Compiler = (*Posterior)(nil)

// Compile implements gp.Compiler.
func (p *Posterior) Compile(shape []int, size int, limit int64) (gp.Compiled, error) {
	if !slices.Equal(shape, p.input) {
		return nil, fmt.Errorf("gapa: inputs of shape %v, expected %v", shape, p.input)
	}
	pass, err := p.site.write(shape, size, p.covariance())
	if err != nil {
		return nil, fmt.Errorf("gapa: %w", err)
	}
	f, err := graph.NewBatchWithin(limit, pass.Builder, pass.X, pass.Outputs...)
	if err != nil {
		return nil, fmt.Errorf("gapa: %w", err)
	}
	return &compiled{f: f, c: pass.Outputs[1].Shape()[1], factor: p.factor, remains: newRemains(p.memory, 1)}, nil
}

// compiled is the gp.Compiled of a Posterior.
type compiled struct {
	f       *graph.Batch // u, the outputs and J diag(c²) Jᵀ
	c       int          // outputs
	factor  float64      // s
	remains *remains
}

// Bytes implements gp.Compiled.
func (c *compiled) Bytes() int64 {
	k, d := int64(c.remains.search.k), int64(c.remains.d)
	return int64(c.f.Bytes()) + 8*(k*(k+d)+searchRows*min(searchPoints, int64(c.remains.search.m)))
}

// Latents implements gp.Compiled.
func (c *compiled) Latents(_ context.Context, x []float64, g *gp.Latents) error {
	out, err := c.f.Run(x)
	if err != nil {
		return fmt.Errorf("gapa: %w", err)
	}
	n := len(x) / c.f.Width()
	r, err := c.remains.at(out[0], n, none)
	if err != nil {
		return fmt.Errorf("gapa: predict: %w", err)
	}
	g.Resize(n, c.c, false)
	g.SetMean(out[1])
	square := c.c * c.c
	if out[2].Dtype() == tensor.Float64 {
		copy(g.Cov, out[2].Float64s())
	} else {
		for i, v := range out[2].Float32s()[:n*square] {
			g.Cov[i] = float64(v)
		}
	}
	for i, v := range r {
		kernel.Scale(g.Cov[i*square:(i+1)*square], c.factor*v, g.Cov[i*square:(i+1)*square])
	}
	return nil
}
