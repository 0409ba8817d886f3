package sfr

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/tensor"
)

// Compile implements gp.Posterior. Each part is compiled by itself.
func (p *posterior) Compile(r gp.Request) (gp.Compiled, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.prepare(context.Background()); err != nil {
		return nil, err
	}
	k := p.kernels
	if !slices.Equal(r.Shape, k.input) {
		return nil, fmt.Errorf("sfr: inputs of shape %v, expected %v", r.Shape, k.input)
	}
	c := &compiled{p: p, size: r.Size, narrow: k.points.Dtype() == tensor.Float32, x: make([]float64, r.Size*tensor.Shape(k.inputShape()).TotalSize())}
	for part := range p.systems {
		z := &graph.Param{Name: "points", Value: k.inputs(k.points, part, k.joint)}
		c.points += dense.Bytes(z.Value)
		pass, err := k.write(z, r.Size)
		if err != nil {
			return nil, fmt.Errorf("sfr: %w", err)
		}
		f, err := r.Batch(c.Bytes(), pass.Builder, pass.X, pass.Outputs...)
		if err != nil {
			return nil, fmt.Errorf("sfr: %w", err)
		}
		c.parts = append(c.parts, f)
	}
	return c, nil
}

// compiled is the gp.Compiled of a posterior.
type compiled struct {
	p      *posterior     // the posterior that is compiled
	parts  []*graph.Batch // the outputs and the kernels of each
	points int64          // bytes of the parts' points
	size   int            // largest number of inputs
	narrow bool           // the network is of float32
	x      []float64      // the inputs of a part, [size·D] or [size·(D+C)]
	room   room           // kept between predictions
}

// Bytes implements gp.Compiled.
func (c *compiled) Bytes() int64 {
	sum := c.points + 8*int64(len(c.x))
	for _, f := range c.parts {
		sum += int64(f.Bytes())
	}
	return sum
}

// Predict implements gp.Compiled.
func (c *compiled) Predict(_ context.Context, x []float64, g *gp.Gaussian) error {
	k, width := c.p.kernels, c.p.kernels.input.TotalSize()
	n, o, m := len(x)/width, k.width(), k.size()
	if len(x)%width != 0 || n < 1 || n > c.size {
		return fmt.Errorf("sfr: %d numbers, expected 1 to %d inputs of %d each", len(x), c.size, width)
	}
	g.Resize(n, c.p.outputs, false)
	clear(g.Cov)
	for part, f := range c.parts {
		out, err := f.Run(c.inputs(x, part, n, width))
		if err == nil {
			v := values{n: n, mean: out[0].Float64s()[:n*o], diag: out[1].Float64s()[:n*o*o], cross: out[2].Float64s()[:n*o*m]}
			err = c.p.place(&c.room, part, v, g.Mean, g.Cov)
		}
		if err != nil {
			return fmt.Errorf("sfr: predict: %w", err)
		}
	}
	return nil
}

// inputs returns x as the network of a part takes it.
func (c *compiled) inputs(x []float64, part, n, width int) []float64 {
	each := len(c.x) / c.size
	for i := range n {
		row := c.x[i*each : (i+1)*each]
		copy(row, x[i*width:(i+1)*width])
		if c.narrow {
			for j, v := range row[:width] {
				row[j] = float64(float32(v))
			}
		}
		if each > width {
			clear(row[width:])
			row[width+part] = 1
		}
	}
	return c.x[:n*each]
}
