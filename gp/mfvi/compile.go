package mfvi

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Compile implements gp.Posterior. All that is compiled shares the weights of the K draws, which
// are drawn when they are first needed.
func (p *posterior) Compile(r gp.Request) (gp.Compiled, error) {
	if !slices.Equal(r.Shape, p.input) {
		return nil, fmt.Errorf("mfvi: inputs of shape %v, expected %v", r.Shape, p.input)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	need := int64(layers.Count(p.net))*int64(p.dtype().Size()) + gp.Numbers(r.Size+1, p.outputs)
	if p.draws == nil {
		need += drawBytes(p.net, p.samples)
	}
	if r.Limit > 0 && need >= r.Limit {
		return nil, tooManyDraws(p.samples, need, r.Limit)
	}
	c := &compiled{p: p, run: p.drawn(), bytes: need}
	b := graph.NewBuilder(p.dtype())
	x := b.Input("x", r.Input()...)
	var err error
	if c.f, err = r.Batch(need, b, x, c.run.Forward(b, x)); err != nil {
		return nil, fmt.Errorf("mfvi: %w", err)
	}
	if p.draws == nil {
		p.draws = make([][]*tensor.Dense, p.samples)
	}
	c.weights, c.room, c.out = values(c.run.Params()), make([]float64, p.outputs), make([]float64, r.Size*p.outputs)
	return c, nil
}

// drawBytes returns the memory of draws of the weights of a network.
func drawBytes(net layers.Network, draws int) int64 {
	return int64(draws) * int64(layers.Count(net)) * int64(net.Params()[0].Value.Dtype().Size())
}

func tooManyDraws(draws int, need, limit int64) error {
	return &graph.MemoryError{What: fmt.Sprintf("mfvi: %d draws of the weights", draws), Need: need, Limit: limit}
}

// drawn returns the weights of draw k. Several goroutines may ask for them.
func (c *compiled) drawn(k int) []*tensor.Dense {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	if c.p.draws[k] == nil {
		to := values(layers.NewCopy(c.p.net).Params())
		c.p.draw(k, to)
		c.p.draws[k] = to
	}
	return c.p.draws[k]
}

// compiled is the gp.Compiled of a posterior.
type compiled struct {
	p         *posterior      // whose predictions these are
	run       *layers.Copy    // the network with the weights of a draw
	weights   []*tensor.Dense // of run
	f         *graph.Batch    // run, compiled
	room, out []float64       // workspace [C], and outputs of a draw [n,C]
	bytes     int64           // of all but f
}

// Bytes implements gp.Compiled.
func (c *compiled) Bytes() int64 { return c.bytes + int64(c.f.Bytes()) }

// Predict implements gp.Compiled.
func (c *compiled) Predict(ctx context.Context, x []float64, g *gp.Gaussian) error {
	for k := range c.p.samples {
		if err := ctx.Err(); err != nil {
			return err
		}
		for i, w := range c.drawn(k) {
			dense.Put(c.weights[i], 0, w, 0, w.Shape()[0])
		}
		c.f.Refresh()
		out, err := c.f.Run(x)
		if err != nil {
			return fmt.Errorf("mfvi: predict: %w", err)
		}
		n := len(x) / c.f.Width()
		if k == 0 {
			c.p.reset(g, n)
		}
		dense.Copy(c.out[:n*c.p.outputs], out[0], 0)
		c.p.take(g, c.room, c.out[:n*c.p.outputs], k)
	}
	return nil
}
