package valla

import (
	"cmp"
	"context"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// Compile implements gp.Posterior.
func (p *posterior) Compile(r gp.Request) (gp.Compiled, error) {
	if err := cmp.Or(p.checkShape(r.Shape), p.solve()); err != nil {
		return nil, err
	}
	c := &compiled{predictions: &predictions{system: p.at, known: p.known}, p: p, shape: r.Shape, marginal: r.Marginal}
	var err error
	if c.f, err = c.batch(p.builder, r.Size, r.Limit, true); err != nil {
		return nil, err
	}
	return c, nil
}

// compiled is the gp.Compiled of a posterior.
type compiled struct {
	*predictions              // the buffers
	p            *posterior   // whose predictions these are
	shape        tensor.Shape // of one input
	marginal     bool         // predictions have variances alone
	f            *graph.Batch // mean, κ̂, or its diagonals, and k̂
	// wide has κ̂ and k̂ of one input in float64, and sharp has the results from κ̂ and k̂, for
	// inputs where float32 is not enough. Both are nil before the first such input.
	wide  *graph.Batch
	sharp *predictions // what is made of wide
	one   []float64    // such an input, in float32
}

// batch compiles κ̂ and k̂ for size inputs at a time, and the network if mean says so.
func (c *compiled) batch(builder func() *graph.Builder, size int, limit int64, mean bool) (*graph.Batch, error) {
	b, p := builder(), c.p
	x := b.Input("x", append([]int{size}, c.shape...)...)
	var nodes []*graph.Node
	if mean {
		nodes = append(nodes, p.net.Forward(b, x))
	}
	return graph.NewBatchWithin(limit, b, x, append(nodes, p.layer.kernels(b, x, c.marginal)...)...)
}

// Bytes implements gp.Compiled.
func (c *compiled) Bytes() int64 {
	return int64(c.f.Bytes() + 8*(len(c.k)+len(c.w)+2*len(c.few.values)))
}

// Predict implements gp.Compiled.
func (c *compiled) Predict(_ context.Context, x []float64, g *gp.Gaussian) error {
	out, err := c.f.Run(x)
	if err != nil {
		return err
	}
	n := len(x) / c.f.Width()
	g.ResizeFor(n, out[0].Shape()[1], c.known != nil, c.marginal)
	g.SetMean(out[0])
	c.into(g)
	if err := c.add(0, n, out[1], out[2]); err != nil {
		return err
	}
	if len(c.blunt) > 0 {
		if err := c.sharpen(x, g); err != nil {
			return err
		}
	}
	for i, e := range g.Epistemic {
		g.Epistemic[i] = e / (e + c.p.scatter)
	}
	return nil
}

// Refresh makes the next prediction see changed parameters of the posterior's layer.
func (c *compiled) Refresh() error {
	if err := c.p.solve(); err != nil {
		return err
	}
	c.predictions.system, c.known, c.wide = c.p.at, c.p.known, nil
	c.f.Refresh()
	return nil
}

// sharpen overwrites the covariances in which float32 is too blunt by those computed in
// float64.
func (c *compiled) sharpen(x []float64, g *gp.Gaussian) error {
	if c.wide == nil {
		var err error
		if c.wide, err = c.batch(wideBuilder, 1, 0, false); err != nil {
			return err
		}
		c.sharp = &predictions{system: c.system, known: c.known, rows: make([]int, 1)}
		c.one = make([]float64, c.f.Width())
	}
	for _, row := range c.blunt {
		part := g.Rows(row, 1)
		c.sharp.into(&part)
		c.sharp.rows[0] = row
		for i := range c.one {
			c.one[i] = float64(float32(x[row*len(c.one)+i]))
		}
		out, err := c.wide.Run(c.one)
		if err != nil {
			return err
		}
		if err := c.sharp.add(0, 1, out[0], out[1]); err != nil {
			return err
		}
	}
	return nil
}
