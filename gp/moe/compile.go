package moe

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/tensor"
)

// Compile implements gp.Posterior. Each expert is compiled by itself.
func (p *posterior) Compile(r gp.Request) (gp.Compiled, error) {
	if want := p.input; !slices.Equal(r.Shape, want) {
		return nil, fmt.Errorf("moe: inputs of shape %v, expected %v", r.Shape, want)
	}
	r.Marginal = false
	c := &compiled{p: p, labels: make([]int, r.Size), narrow: p.net.Params()[0].Value.Dtype() == tensor.Float32}
	width := tensor.Shape(r.Shape).TotalSize()
	c.x, c.scores = make([]float64, r.Size*width), make([]float64, r.Size*scores)
	if p.gate.points != nil {
		pass, err := p.gate.write(p.net, r.Size)
		if err == nil {
			c.kernel, err = r.Batch(c.Bytes(), pass.Builder, pass.X, pass.Outputs...)
		}
		if err != nil {
			return nil, fmt.Errorf("moe: %w", err)
		}
		c.k = make([]float64, r.Size*p.gate.points.Shape()[0])
	}
	for e, q := range p.experts {
		expert, err := r.Part(c.Bytes(), q)
		if err != nil {
			return nil, fmt.Errorf("moe: expert %d of %d: %w", e+1, len(p.experts), err)
		}
		c.experts = append(c.experts, expert)
	}
	return c, nil
}

// compiled is the gp.Compiled of a posterior.
type compiled struct {
	p       *posterior    // the posterior that is compiled
	kernel  *graph.Batch  // with the points; nil with cells
	experts []gp.Compiled // by number of the expert
	narrow  bool          // the network is of float32

	k, scores []float64   // [size,m] and [size,2]
	labels    []int       // [size]
	x         []float64   // the inputs of an expert
	g         gp.Gaussian // predictions of an expert
}

// Bytes implements gp.Compiled.
func (c *compiled) Bytes() int64 {
	sum := int64(8 * (len(c.k) + len(c.scores) + len(c.labels) + len(c.x)))
	if c.kernel != nil {
		sum += int64(c.kernel.Bytes())
	}
	for _, e := range c.experts {
		sum += e.Bytes()
	}
	return sum
}

// Predict implements gp.Compiled.
func (c *compiled) Predict(ctx context.Context, x []float64, g *gp.Gaussian) error {
	width := len(c.x) / len(c.labels)
	n, outputs := len(x)/width, c.p.outputs
	if len(x)%width != 0 || n < 1 || n > len(c.labels) {
		return fmt.Errorf("moe: %d numbers, expected 1 to %d inputs of %d each", len(x), len(c.labels), width)
	}
	if err := c.label(x, n); err != nil {
		return err
	}
	g.Resize(n, outputs, false)
	for e, expert := range c.experts {
		own := c.x[:0]
		for i, label := range c.labels[:n] {
			if label == e {
				own = append(own, x[i*width:(i+1)*width]...)
			}
		}
		if len(own) == 0 {
			continue
		}
		if err := expert.Predict(ctx, own, &c.g); err != nil {
			return fmt.Errorf("moe: expert %d of %d: %w", e+1, len(c.experts), err)
		}
		at := 0
		for i, label := range c.labels[:n] {
			if label == e {
				copy(g.Mean[i*outputs:(i+1)*outputs], c.g.Mean[at*outputs:])
				copy(g.Cov[i*outputs*outputs:(i+1)*outputs*outputs], c.g.Cov[at*outputs*outputs:])
				at++
			}
		}
	}
	return nil
}

// label finds the experts that answer at n inputs.
func (c *compiled) label(x []float64, n int) error {
	if c.kernel == nil {
		for i, v := range x {
			if c.narrow {
				v = float64(float32(v))
			}
			c.labels[i] = c.p.gate.cell(v)
		}
		return nil
	}
	out, err := c.kernel.Run(x)
	if err != nil {
		return fmt.Errorf("moe: %w", err)
	}
	m := len(c.p.gate.means)
	k := c.k[:n*m]
	dense.Copy(k, out[0], 0)
	if err := finite(k, 0, m); err != nil {
		return err
	}
	c.p.gate.scoresInto(c.scores[:n*scores], k)
	c.p.gate.nearestInto(c.labels[:n], c.scores)
	return nil
}
