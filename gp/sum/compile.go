package sum

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
)

var _ gp.Compiler = (*Posterior)(nil)

// Compile implements gp.Compiler.
func (p *Posterior) Compile(shape []int, size int, limit int64) (gp.Compiled, error) {
	c := &compiled{p: p, terms: make([]gp.Compiled, len(p.terms)), all: make([]gp.Latents, len(p.terms))}
	for k, t := range p.terms {
		of, ok := t.Stored.(gp.Compiler)
		if !ok {
			return nil, fmt.Errorf("%v: %v cannot be compiled", p, t)
		}
		left := limit - c.Bytes()
		if limit > 0 && left <= 0 {
			return nil, &graph.MemoryError{What: p.String(), Need: c.Bytes() + 1, Limit: limit}
		}
		var err error
		if c.terms[k], err = of.Compile(shape, size, max(0, left)); err != nil {
			return nil, fmt.Errorf("%v: %w", p, err)
		}
	}
	return c, nil
}

// compiled is the gp.Compiled of a Posterior.
type compiled struct {
	p     *Posterior
	terms []gp.Compiled
	all   []gp.Latents // of the terms
}

// Bytes implements gp.Compiled.
func (c *compiled) Bytes() (sum int64) {
	for _, t := range c.terms {
		if t != nil {
			sum += t.Bytes()
		}
	}
	return sum
}

// Latents implements gp.Compiled.
func (c *compiled) Latents(ctx context.Context, x []float64, g *gp.Latents) error {
	for k, t := range c.terms {
		if err := t.Latents(ctx, x, &c.all[k]); err != nil {
			return fmt.Errorf("%v: %w", c.p, err)
		}
	}
	// Every covariance has as many numbers for a mean as there are outputs.
	c.p.add(c.all, len(c.all[0].Cov)/len(c.all[0].Mean), g)
	return nil
}
