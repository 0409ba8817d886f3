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
// are drawn the first time.
func (p *posterior) Compile(shape []int, size int, limit int64) (gp.Compiled, error) {
	if !slices.Equal(shape, p.input) {
		return nil, fmt.Errorf("mfvi: inputs of shape %v, expected %v", shape, p.input)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	weights := int64(layers.Count(p.net)) * int64(p.dtype().Size())
	need := weights
	if p.draws == nil {
		need += int64(p.samples) * weights
	}
	if limit > 0 && need >= limit {
		return nil, &graph.MemoryError{What: fmt.Sprintf("mfvi: %d draws of the weights", p.samples), Need: need, Limit: limit}
	}
	c := &compiled{p: p, run: p.drawn(), bytes: need}
	b := graph.NewBuilder(p.dtype())
	x := b.Input("x", append([]int{size}, shape...)...)
	var err error
	if c.f, err = graph.NewBatchWithin(max(0, limit-need), b, x, c.run.Forward(b, x)); err != nil {
		return nil, fmt.Errorf("mfvi: %w", err)
	}
	if p.draws == nil {
		for k := range p.samples {
			p.draws = append(p.draws, values(layers.NewCopy(p.net).Params()))
			p.draw(k, p.draws[k])
		}
	}
	c.weights, c.room, c.out = values(c.run.Params()), make([]float64, p.outputs), make([]float64, size*p.outputs)
	return c, nil
}

// compiled is the gp.Compiled of a posterior.
type compiled struct {
	p         *posterior      // whose predictions these are
	run       *layers.Copy    // the network with the weights of a draw
	weights   []*tensor.Dense // of run
	f         *graph.Batch    // run, compiled
	room, out []float64       // workspace [C], and outputs of a draw [n,C]
	bytes     int64           // of weights
}

// Bytes implements gp.Compiled.
func (c *compiled) Bytes() int64 { return c.bytes + int64(c.f.Bytes()) + 8*int64(len(c.out)) }

// Predict implements gp.Compiled.
func (c *compiled) Predict(ctx context.Context, x []float64, g *gp.Gaussian) error {
	for k, draw := range c.p.draws {
		if err := ctx.Err(); err != nil {
			return err
		}
		for i, w := range draw {
			if w.Dtype() == tensor.Float32 {
				copy(c.weights[i].Float32s(), w.Float32s())
			} else {
				copy(c.weights[i].Float64s(), w.Float64s())
			}
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
