package sum

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
)

// Compile implements gp.Posterior.
func (p *posterior) Compile(shape []int, size int, limit int64) (gp.Compiled, error) {
	c := &compiled{p: p, terms: make([]gp.Compiled, len(p.terms)), all: make([]gp.Gaussian, len(p.terms))}
	for k, t := range slices.Backward(p.terms) { // GAPA knows the shape of the inputs
		left := limit - c.Bytes()
		if limit > 0 && left <= 0 {
			return nil, &graph.MemoryError{What: p.String(), Need: c.Bytes() + 1, Limit: limit}
		}
		var err error
		if c.terms[k], err = t.Compile(shape, size, max(0, left)); err != nil {
			return nil, fmt.Errorf("%v: %w", p, err)
		}
	}
	return c, nil
}

// compiled is the gp.Compiled of a posterior.
type compiled struct {
	p     *posterior    // the posterior that is compiled
	terms []gp.Compiled // VaLLA and GAPA
	all   []gp.Gaussian // of the terms
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

// Predict implements gp.Compiled.
func (c *compiled) Predict(ctx context.Context, x []float64, g *gp.Gaussian) error {
	for k, t := range c.terms {
		if err := t.Predict(ctx, x, &c.all[k]); err != nil {
			return fmt.Errorf("%v: %w", c.p, err)
		}
	}
	c.p.add(c.all, g)
	return nil
}
