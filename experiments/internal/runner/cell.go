package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/train"
)

// cell computes, keeps and returns one cell.
func (r *runner) cell(ctx context.Context, p *problem, c plan) (*result.Cell, error) {
	fail := func(err error) error { return fmt.Errorf("%s: %s, seed %d: %w", c.Data, c.Row, c.Seed, err) }
	cell := &result.Cell{Experiment: r.spec.Name, Profile: r.spec.Profile, ID: c.ID}
	meter := result.StartMeter()
	m, before, err := r.fit(ctx, p, c, cell)
	cell.Fit = before.Add(meter.Cost())
	if c.Settings == nil && c.law == law.Gaussian {
		cell.Fit = p.cost
	}
	if limit, ok := r.refusal(err); ok {
		cell.Refused, cell.Limit = err.Error(), limit
	} else {
		if err == nil {
			err = r.finish(ctx, p, c, m, cell)
		}
		if err == nil && r.Count {
			err = r.count(ctx, p, c, cell)
		}
		if err == nil && r.KeepModels {
			err = keep(r.folder.Model(c.ID), m)
		}
		if err != nil {
			return nil, errors.Join(fail(err), r.folder.Interrupt(c.ID, cell.Fit))
		}
	}
	if cell.Settings, err = json.Marshal(c.settings); err != nil {
		return nil, fail(err)
	}
	cell.Machine = result.ThisMachine(valla.Version())
	if err := r.folder.Write(cell); err != nil {
		return nil, err
	}
	return cell, result.Remove(r.checkpoint(c))
}

// refusal reports whether err refuses a fit for its memory, and under which limit. The limit is
// result.Busy where the machine had too little memory left, since it may have more the next time.
func (r *runner) refusal(err error) (limit int64, ok bool) {
	var m *graph.MemoryError
	if !errors.As(err, &m) {
		return 0, false
	}
	if m.Free {
		return result.Busy, true
	}
	return r.Memory, true
}

// checkpoint is the file of a cell's unfinished fit.
func (r *runner) checkpoint(c plan) string { return r.folder.Work(c.Name() + ".checkpoint") }

// resumed makes a training or a fit that goes on from a checkpoint, and returns what it cost before, which the file spent says. It
// begins anew where the checkpoint is damaged or an older version of the program has written it.
func resumed(checkpoint, spent string, do func() (*valla.Model, error)) (m *valla.Model, before result.Cost, err error) {
	_, missing := os.Stat(checkpoint)
	goesOn := missing == nil
	m, err = do()
	if errors.Is(err, train.ErrCheckpoint) || errors.Is(err, train.ErrMismatch) {
		if err := result.Remove(checkpoint); err != nil {
			return nil, before, err
		}
		goesOn = false
		m, err = do()
	}
	if goesOn {
		var failed error
		before, failed = result.ReadCost(spent)
		err = cmp.Or(err, failed)
	}
	return m, before, err
}

// keep writes a model to a file whose folder is made if need be.
func keep(path string, m *valla.Model) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return m.Save(path)
}

// finish scores a fitted model, and writes the scores and the record of the fit to the cell.
func (r *runner) finish(ctx context.Context, p *problem, c plan, m *valla.Model, cell *result.Cell) error {
	event := m.History[len(m.History)-1]
	cell.Facts, cell.Curves.History = facts(event.Record), history(event.Record)
	if c.Settings == nil || r.Made {
		cell.Facts.Note = p.note
	}
	err := score(ctx, p, m, c.scoring, cell, r.folder.Predicted(c.ID), r.Progress("%s %s seed %d", c.Data, c.Row, c.Seed))
	if bad := notANumber(cell.Scores); err == nil && bad != "" {
		err = fmt.Errorf("%s is not a number", bad)
	}
	return err
}

// fit fits the method of a cell, and returns what the fit cost before, see resumed. For MAP it returns the network alone, with the law
// of the row.
func (r *runner) fit(ctx context.Context, p *problem, c plan, cell *result.Cell) (m *valla.Model, before result.Cost, err error) {
	switch {
	case c.Settings == nil && c.law == law.Gaussian:
		return p.model, before, nil
	case c.Settings == nil && p.held == nil:
		return nil, before, settings.Errorf("a law of the network alone needs rows for validation")
	case c.Settings == nil:
		m, err = p.model.Calibrate(ctx, p.held, valla.CalibrateOptions{Method: valla.CalibrateLaw, Law: c.law})
		return m, before, err
	}
	model, err := observation(c.model)
	if err != nil {
		return nil, before, err
	}
	o := r.fitOptions(p, c)
	o.Likelihood = model
	if c.hyperFrom != "" {
		err := r.takeHyper(ctx, p, c, o)
		if limit, ok := r.refusal(err); ok {
			cell.HyperRefused, cell.Limit = err.Error(), limit
		} else if err != nil {
			return nil, before, err
		}
	}
	return resumed(o.Checkpoint, r.folder.Spent(c.ID), func() (*valla.Model, error) { return p.model.Fit(ctx, p.train, o) })
}

// fitOptions returns the options of the fit of a cell, with the observation model of the network.
func (r *runner) fitOptions(p *problem, c plan) valla.FitOptions {
	o := valla.FitOptions{Settings: c.Settings, Held: p.held, Law: c.law, Untempered: true, Run: gp.Run{
		Seed: c.Seed, Memory: r.Memory, Checkpoint: r.checkpoint(c), Resume: true,
		OnProgress: r.Progress("%s %s seed %d", c.Data, c.Row, c.Seed),
	}}
	if p.held == nil {
		o.Validation = new(0.0)
	}
	return o
}

// observation returns the settings of the observation model with a name, and nil for "".
func observation(name string) (likelihood.Settings, error) {
	if name == "" {
		return nil, nil
	}
	return likelihood.Named(name)
}

// takeHyper fits another method with its defaults, and sets prior std and noise std of the
// cell's settings to those it finds. A method that can maximise a marginal likelihood does so,
// as published. If that fit needs too much memory the error is a *graph.MemoryError, and the
// settings keep their values.
func (r *runner) takeHyper(ctx context.Context, p *problem, c plan, o valla.FitOptions) error {
	how, err := method.Lookup(c.hyperFrom)
	if err != nil {
		return err
	}
	o.Settings, o.Law, o.Checkpoint, o.Resume = how.New(), law.Gaussian, "", false
	o.OnProgress = r.Progress("%s %s for %s seed %d", c.Data, c.hyperFrom, c.Row, c.Seed)
	if f := settings.Lookup(o.Settings, "hyper"); f != nil {
		if err := f.Set("marglik"); err != nil {
			return err
		}
	}
	m, err := p.model.Fit(ctx, p.train, o)
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

// facts returns the facts of a fit that its record holds.
func facts(r gp.Record) result.Facts {
	var f result.Facts
	if len(r.PriorStds) > 0 {
		f.PriorStd = result.Number(r.PriorStds[0])
	}
	if res := r.Result; res != nil {
		f.Steps, f.Best, f.Stopped = res.Iterations, res.BestIteration, string(res.Stopped)
		if res.KeptLast {
			f.Best = res.Iterations
		}
	}
	for _, v := range r.Facts {
		if f.Found == nil {
			f.Found = map[string]result.Number{}
		}
		f.Found[v.Name] = result.Number(v.Value)
	}
	return f
}

// history returns the validations of a record.
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

// notANumber returns the name of a score that is NaN, or "".
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
