package sum

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
)

// Compile implements gp.Posterior.
func (p *posterior) Compile(r gp.Request) (gp.Compiled, error) {
	r.Marginal = false
	c := &compiled{p: p, terms: make([]gp.Compiled, len(p.terms)), all: make([]gp.Gaussian, len(p.terms))}
	for k, t := range slices.Backward(p.terms) { // GAPA knows the shape of the inputs
		var err error
		if c.terms[k], err = r.Part(c.Bytes(), t); err != nil {
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
