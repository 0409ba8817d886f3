package fmgp

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fault"
	"gorgonia.org/tensor"
)

// Compile implements gp.Posterior.
func (p *posterior) Compile(r gp.Request) (gp.Compiled, error) {
	if !slices.Equal(r.Shape, p.input) {
		return nil, fmt.Errorf("fmgp: inputs of shape %v, expected %v", r.Shape, p.input)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wide == nil {
		p.wide = p.layer.wide()
	}
	k := p.layer.Kernel
	c := &compiled{p: p, narrow: p.layer.Z.Value.Dtype() == tensor.Float32, u: make([]float64, r.Size*k.Width()), marginal: r.Marginal}
	own := gp.Numbers(len(c.u))
	b := graph.NewBuilder(p.layer.Z.Value.Dtype())
	x := b.Input("x", r.Input()...)
	var err error
	if c.network, err = r.Batch(own, b, x, writeNetwork(b, p.net, x, k.Features > 0)...); err == nil {
		b = graph.NewBuilder(tensor.Float64)
		u := b.Input("u", r.Size, k.Width())
		c.latent, err = r.Batch(own+int64(c.network.Bytes()), b, u, p.outputs(b, u, r.Marginal)...)
	}
	return c, fault.In("fmgp", err)
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
	if out, err = c.latent.Run(c.u[:n*w]); err == nil {
		err = c.p.fill(g, out, 0)
	}
	return fault.In("fmgp", err)
}
