package gp

import (
	"context"
)

// InUnits returns p, whose Gaussians count in units that depend on the input: unit predicts positive means [C], which are
// the units.
func InUnits(p Posterior, unit Posterior) Posterior { return inUnits{p, unit} }

// inUnits is a posterior whose predictions have a Unit.
type inUnits struct{ Posterior, unit Posterior }

// Compile implements Posterior.
func (u inUnits) Compile(r Request) (Compiled, error) {
	c, err := u.Posterior.Compile(r)
	if err != nil {
		return nil, err
	}
	unit, err := r.Part(c.Bytes(), u.unit)
	return &compiledUnits{Compiled: c, unit: unit}, err
}

// compiledUnits is the Compiled of an inUnits.
type compiledUnits struct {
	Compiled
	unit Compiled // predicts the units
	g    Gaussian // the units
}

// Bytes implements Compiled.
func (c *compiledUnits) Bytes() int64 { return c.Compiled.Bytes() + c.unit.Bytes() }

// Predict implements Compiled.
func (c *compiledUnits) Predict(ctx context.Context, x []float64, g *Gaussian) error {
	if err := c.Compiled.Predict(ctx, x, g); err != nil {
		return err
	}
	if err := c.unit.Predict(ctx, x, &c.g); err != nil {
		return err
	}
	g.ResizeUnit()
	copy(g.Unit, c.g.Mean)
	return nil
}
