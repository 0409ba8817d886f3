package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
)

// cell computes and writes one cell.
func (r *runner) cell(ctx context.Context, p *problem, c plan) error {
	fail := func(err error) error { return fmt.Errorf("%s: %s, seed %d: %w", c.Data, c.Row, c.Seed, err) }
	spent, err := r.folder.Spent(c.ID)
	if err != nil {
		return err
	}
	cell := &result.Cell{Experiment: r.spec.Name, Profile: r.spec.Profile, ID: c.ID}
	checkpoint, meter := r.folder.Work(c.Name()+".checkpoint"), result.StartMeter()
	m, err := r.fit(ctx, p, c, checkpoint)
	cell.Fit = spent.Add(meter.Cost())
	if c.Settings == nil {
		cell.Fit = p.cost
	}
	switch {
	case errors.As(err, new(*graph.MemoryError)):
		cell.Refused = err.Error()
	case err != nil:
		return errors.Join(fail(err), r.folder.Interrupt(c.ID, cell.Fit))
	default:
		if err := r.finish(ctx, p, c, m, cell); err != nil {
			return errors.Join(fail(err), r.folder.Interrupt(c.ID, cell.Fit))
		}
	}
	if cell.Settings, err = json.Marshal(c.settings); err != nil {
		return fail(err)
	}
	cell.Machine = result.ThisMachine(valla.Version())
	if err := r.folder.Write(cell); err != nil {
		return err
	}
	return remove(checkpoint)
}

// finish fills in what a fitted model has, and scores it.
func (r *runner) finish(ctx context.Context, p *problem, c plan, m *valla.Model, cell *result.Cell) error {
	event := m.History[len(m.History)-1]
	cell.Facts, cell.Curves.History = facts(event.Record), history(event.Record)
	if c.Settings == nil {
		cell.Facts.Note = p.note
	}
	meter := result.StartMeter()
	err := score(ctx, p, m, c.scoring, cell)
	cell.Predict = meter.Cost()
	if bad := notANumber(cell.Scores); err == nil && bad != "" {
		err = fmt.Errorf("%s is not a number", bad)
	}
	return err
}

// fit fits the method of a cell.
func (r *runner) fit(ctx context.Context, p *problem, c plan, checkpoint string) (*valla.Model, error) {
	if c.Settings == nil {
		return p.model, nil
	}
	o := valla.FitOptions{Settings: c.Settings, Held: p.held, Run: gp.Run{
		Seed: c.Seed, Memory: r.Memory, Checkpoint: checkpoint, Resume: true,
		OnProgress: r.progress("%s %s seed %d", c.Data, c.Row, c.Seed),
	}}
	if p.held == nil {
		o.Validation = new(0.0)
	}
	if c.hyperFrom != "" {
		if err := takeHyper(ctx, p, c, o); err != nil {
			return nil, err
		}
	}
	return p.model.Fit(ctx, p.train, o)
}

// takeHyper sets prior std and noise std of a cell's settings to those of another method,
// fitted with its defaults, but for a marginal likelihood to maximise, as published, where it
// knows one. Where that needs too much memory they stay.
func takeHyper(ctx context.Context, p *problem, c plan, o valla.FitOptions) error {
	how, err := method.Lookup(c.hyperFrom)
	if err != nil {
		return err
	}
	o.Settings, o.Checkpoint, o.Resume = how.New(), "", false
	if f := settings.Lookup(o.Settings, "hyper"); f != nil {
		if err := f.Set("marglik"); err != nil {
			return err
		}
	}
	m, err := p.model.Fit(ctx, p.train, o)
	if errors.As(err, new(*graph.MemoryError)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.hyperFrom, err)
	}
	found := map[string]float64{"prior-std": m.History[len(m.History)-1].PriorStds[0]}
	if v := m.NoiseVariance(); v > 0 {
		found["noise-std"] = math.Sqrt(v)
	}
	for name, v := range found {
		f := settings.Lookup(c.Settings, name)
		if f == nil {
			return settings.Errorf("%s has no setting %s to take from %s", c.Method, name, c.hyperFrom)
		}
		if err := f.Set(strconv.FormatFloat(v, 'g', -1, 64)); err != nil {
			return err
		}
	}
	return nil
}

// facts are those of a record.
func facts(r gp.Record) result.Facts {
	var f result.Facts
	if len(r.PriorStds) > 0 {
		f.PriorStd = result.Number(r.PriorStds[0])
	}
	if res := r.Result; res != nil {
		f.Steps, f.Best, f.Stopped = res.Iterations, res.BestIteration, string(res.Stopped)
	}
	return f
}

// history turns the validations of a record into points.
func history(r gp.Record) []result.Point {
	var points []result.Point
	if r.Result == nil {
		return nil
	}
	for _, h := range r.Result.History {
		points = append(points, result.Point{Step: h.Iteration, Seconds: h.Seconds, Loss: result.Number(h.Loss), Validation: result.Number(h.Validation)})
	}
	return points
}

// notANumber is the name of a score that is NaN, or "".
func notANumber(scores map[string]result.Scores) string {
	for kind, s := range scores {
		for name, v := range s {
			if math.IsNaN(float64(v)) {
				return strings.TrimSpace(kind + " " + name)
			}
		}
	}
	return ""
}
