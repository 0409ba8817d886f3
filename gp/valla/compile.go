package valla

import (
	"cmp"
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/tensor"
)

// Compile implements gp.Posterior.
func (p *posterior) Compile(r gp.Request) (gp.Compiled, error) {
	if err := cmp.Or(p.checkShape(r.Shape), p.solve()); err != nil {
		return nil, err
	}
	c := &compiled{predictions: &predictions{system: p.at, known: p.known}, p: p, shape: r.Shape, marginal: r.Marginal}
	var err error
	c.f, err = c.batch(p.builder, r, true)
	return c, err
}

// compiled is the gp.Compiled of a posterior.
type compiled struct {
	*predictions              // the buffers
	p            *posterior   // whose predictions these are
	shape        tensor.Shape // of one input
	marginal     bool         // predictions have variances alone
	f            *graph.Batch // κ̂, or its diagonals, k̂, places and mean
	// wide has κ̂ and k̂ of one input in float64, and sharp has the results from κ̂ and k̂, for
	// inputs where float32 is not enough. Both are nil before the first such input.
	wide  *graph.Batch
	sharp *predictions // what is made of wide
	one   []float64    // such an input, in float32

	top    gp.Gaussian // of the likeliest classes
	places []float64   // of the likeliest classes of a batch, [n·K]
}

// batch compiles what [Layer.kernels] writes, and the network if mean says so.
func (c *compiled) batch(builder func() *graph.Builder, r gp.Request, mean bool) (*graph.Batch, error) {
	b := builder()
	x := b.Input("x", r.Input()...)
	out := c.p.net.Forward(b, x)
	nodes, _ := c.p.layer.kernels(c.p.likeliest, b, x, out, r.Marginal)
	if mean {
		nodes = append(nodes, out)
	}
	var own int64
	if mean && b.Err() == nil && !c.fewNumbers(r.Marginal) {
		n := nodes[1].Shape().TotalSize() // of k̂
		c.k, c.w = make([]float64, n), make([]float64, n)
		own = gp.Numbers(2, n)
	}
	return r.Batch(own, b, x, nodes...)
}

// Bytes implements gp.Compiled.
func (c *compiled) Bytes() int64 {
	return int64(c.f.Bytes() + 8*(len(c.k)+len(c.w)+2*len(c.few.values)+len(c.places)+len(c.top.Cov)))
}

// Predict implements gp.Compiled.
func (c *compiled) Predict(_ context.Context, x []float64, g *gp.Gaussian) error {
	out, err := c.f.Run(x)
	if err != nil {
		return err
	}
	n, mean := len(x)/c.f.Width(), out[len(out)-1]
	g.ResizeFor(n, mean.Shape()[1], c.known != nil, c.marginal)
	g.SetMean(mean)
	to, k := g, c.p.likeliest
	if k > 0 {
		to, c.places = &c.top, dense.Resized(c.places, n*k)
		to.ResizeFor(n, k, false, c.marginal)
		dense.Copy(c.places, out[2], 0)
	}
	c.into(to)
	if err = c.add(0, n, out[0], out[1]); err == nil && len(c.blunt) > 0 {
		err = c.sharpen(x, to)
	}
	switch {
	case err != nil && k > 0:
		return fmt.Errorf("counting outputs among the %d likeliest classes: %w", k, err)
	case err != nil:
		return err
	case k > 0:
		g.Widen(c.top, c.places)
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
		if c.wide, err = c.batch(wideBuilder, gp.Request{Shape: c.shape, Size: 1, Marginal: c.marginal}, false); err != nil {
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
		if k := c.p.likeliest; k > 0 { // float64 may have another order
			dense.Copy(c.places[row*k:(row+1)*k], out[2], 0)
		}
	}
	return nil
}
