package along

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/jacobian"
)

// Compile implements gp.Posterior.
func (p *Posterior) Compile(r gp.Request) (gp.Compiled, error) {
	if !slices.Equal(r.Shape, p.Input) {
		return nil, fmt.Errorf("%s: inputs of shape %v, expected %v", p.Name, r.Shape, p.Input)
	}
	pass, err := jacobian.DirectionalPass(p.Net, r.Shape, p.V, r.Size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	features := pass.Outputs[1].Shape().TotalSize()
	own := gp.Numbers(features)
	if p.Root != nil {
		own *= 2
	}
	f, err := r.Batch(own, pass.Builder, pass.X, pass.Outputs...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	c := &compiled{p: p, f: f, phi: make([]float64, features), marginal: r.Marginal}
	if p.Root != nil {
		c.w = make([]float64, features)
	}
	return c, nil
}

// compiled is the gp.Compiled of a Posterior.
type compiled struct {
	p   *Posterior   // the posterior that is compiled
	f   *graph.Batch // the network's outputs and φ
	phi []float64    // φ [size·C,K]
	w   []float64    // W = φ R [size·C,K]; nil where R is the identity

	marginal bool // predictions have variances alone
}

// Bytes implements gp.Compiled.
func (c *compiled) Bytes() int64 { return int64(c.f.Bytes() + 8*(len(c.phi)+len(c.w))) }

// Predict implements gp.Compiled.
func (c *compiled) Predict(_ context.Context, x []float64, g *gp.Gaussian) error {
	out, err := c.f.Run(x)
	if err != nil {
		return fmt.Errorf("%s: %w", c.p.Name, err)
	}
	n, outputs, k := len(x)/c.f.Width(), out[0].Shape()[1], c.p.Rank()
	g.ResizeFor(n, outputs, false, c.marginal)
	g.SetMean(out[0])
	w := c.phi[:n*outputs*k]
	dense.Copy(w, out[1], 0)
	if c.w != nil {
		w = c.p.rooted(c.w, w)
	}
	if c.marginal {
		for i := range g.Mean {
			row := w[i*k : (i+1)*k]
			g.Cov[i] = c.p.Scale * kernel.Dot(row, row)
		}
		return nil
	}
	for at := 0; at < len(g.Mean); at += outputs {
		kernel.Syrk(false, outputs, k, c.p.Scale, w[at*k:], k, 0, g.Cov[at*outputs:], outputs)
	}
	return nil
}
