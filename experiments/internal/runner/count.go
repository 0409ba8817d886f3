package runner

import (
	"context"
	"reflect"
	"strconv"

	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/settings"
)

// count gives the costs of a fitted cell the operations that the fit and its predictions need at least, by the plan of a fit of
// as many steps as were made. A method without a plan has none.
func (r *runner) count(ctx context.Context, p *problem, c plan, cell *result.Cell) error {
	s, err := withSteps(c.Settings, cell.Facts.Steps)
	if err != nil {
		return err
	}
	plans, ok := s.(gp.Estimator)
	if !ok {
		return nil
	}
	of, err := p.model.Problem(ctx, p.train, r.fitOptions(p, c))
	if err != nil {
		return err
	}
	e, err := plans.Estimate(ctx, of, gp.Run{Seed: c.Seed, Memory: r.Memory})
	if err != nil {
		return err
	}
	rows := float64(p.test.N())
	if p.other != nil {
		rows += float64(p.other.N())
	}
	cell.Fit.Needed, cell.Predict.Needed = result.Operations(e.Flops), result.Operations(e.RowFlops.Times(rows))
	return nil
}

// withSteps returns a copy of settings with the number of steps, where they have one.
func withSteps(s gp.Settings, steps int) (gp.Settings, error) {
	if s == nil {
		return nil, nil
	}
	c := reflect.New(reflect.TypeOf(s).Elem())
	c.Elem().Set(reflect.ValueOf(s).Elem())
	if f := settings.Lookup(c.Interface(), "iterations"); f != nil && steps > 0 {
		if err := f.Set(strconv.Itoa(steps)); err != nil {
			return nil, err
		}
	}
	return c.Interface().(gp.Settings), nil
}
