package fmgp

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/tensor"
)

// Marginals implements gp.Marginal.
func (p *posterior) Marginals() gp.Posterior {
	return gp.PosteriorFunc(func(shape []int, size int, limit int64) (gp.Compiled, error) {
		return p.predictions(shape, size, limit, true)
	})
}

// Compile implements gp.Posterior.
func (p *posterior) Compile(shape []int, size int, limit int64) (gp.Compiled, error) {
	return p.predictions(shape, size, limit, false)
}

// predictions is Compile, for variances alone if marginal says so.
func (p *posterior) predictions(shape []int, size int, limit int64, marginal bool) (gp.Compiled, error) {
	if !slices.Equal(shape, p.input) {
		return nil, fmt.Errorf("fmgp: inputs of shape %v, expected %v", shape, p.input)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wide == nil {
		p.wide = p.layer.wide()
	}
	k := p.layer.Kernel
	c := &compiled{p: p, narrow: p.layer.Z.Value.Dtype() == tensor.Float32, u: make([]float64, size*k.Width()), marginal: marginal}
	b := graph.NewBuilder(p.layer.Z.Value.Dtype())
	x := b.Input("x", append([]int{size}, shape...)...)
	var err error
	if c.network, err = graph.NewBatchWithin(limit, b, x, writeNetwork(b, p.net, x, k.Features > 0)...); err == nil {
		b = graph.NewBuilder(tensor.Float64)
		u := b.Input("u", size, k.Width())
		if limit > 0 {
			limit = max(1, limit-int64(c.network.Bytes()))
		}
		c.latent, err = graph.NewBatchWithin(limit, b, u, p.outputs(b, u, marginal)...)
	}
	if err != nil {
		return nil, fmt.Errorf("fmgp: %w", err)
	}
	return c, nil
}

// compiled is the gp.Compiled of a posterior.
type compiled struct {
	p       *posterior   // whose predictions these are
	network *graph.Batch // outputs and features
	latent  *graph.Batch // see posterior.outputs
	narrow  bool         // the network is of float32
	u       []float64    // points, [size, D+E]

	marginal bool // predictions have variances alone
}

// Bytes implements gp.Compiled.
func (c *compiled) Bytes() int64 {
	return int64(c.network.Bytes() + c.latent.Bytes() + 8*len(c.u))
}

// Predict implements gp.Compiled.
func (c *compiled) Predict(_ context.Context, x []float64, g *gp.Gaussian) error {
	out, err := c.network.Run(x)
	if err != nil {
		return fmt.Errorf("fmgp: %w", err)
	}
	k := c.p.layer.Kernel
	n, w := len(x)/k.Inputs, k.Width()
	g.ResizeFor(n, k.Outputs, c.p.known != nil, c.marginal)
	g.SetMean(out[0])
	for i := range n {
		row := c.u[i*w : (i+1)*w]
		copy(row, x[i*k.Inputs:(i+1)*k.Inputs])
		if c.narrow {
			for j, v := range row[:k.Inputs] {
				row[j] = float64(float32(v))
			}
		}
		if k.Features > 0 {
			dense.Copy(row[k.Inputs:], out[1], i*k.Features)
		}
	}
	if out, err = c.latent.Run(c.u[:n*w]); err != nil {
		return fmt.Errorf("fmgp: %w", err)
	}
	if err := c.p.fill(g, out, 0); err != nil {
		return fmt.Errorf("fmgp: %w", err)
	}
	return nil
}
