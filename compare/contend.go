package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/coverage"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/train"
)

// contend makes the result of a contender.
func (c *contest) contend(ctx context.Context, one contender) (Result, error) {
	out := Result{Name: one.name, Label: one.label, Settings: one.given, simpler: one.simpler}
	scorer, width := c.m.Task.Scorer(), coverage.Tally{Level: c.o.Level}
	var last *valla.Model
	for i, f := range c.folds {
		m, took, err := c.make(ctx, one, f, i)
		if err != nil {
			return out, err
		}
		last, out.FitBytes, out.FitCPU = m, max(out.FitBytes, took.bytes), max(out.FitCPU, took.seconds)
		c.label(&out, one, m)
		p, err := m.Predict(ctx, f.judge.X, valla.PredictOptions{})
		if err != nil {
			return out, err
		}
		nlls, err := m.Task.NLLs(p, f.judge.Y)
		if err != nil {
			return out, err
		}
		out.nlls = append(out.nlls, nlls...)
		y := graph.Floats(f.judge.Y)
		if err := errors.Join(scorer.Add(p, f.judge.Y), width.Add(p, y), c.span(&out, p, y)); err != nil {
			return out, err
		}
	}
	var err error
	out.NLL, out.StandardError = kernel.Mean(out.nlls), kernel.StandardError(out.nlls)
	if out.Coverage, out.Width = width.Means(); out.spans.scores != nil {
		out.IntervalScore = new(kernel.Mean(out.spans.scores))
	}
	if out.Scores, err = scorer.Scores(); err != nil {
		return out, err
	}
	out.Details = out.Scores.Details()
	out.MicrosPerRow, err = speed(ctx, last, c.folds[0].judge)
	return out, err
}

// label gives a result the name of a model that was made for it, and adds the time that this took.
func (c *contest) label(out *Result, one contender, m *valla.Model) {
	if one.again != nil {
		out.FitSeconds = c.trainings[one.name].seconds
		return
	}
	out.Label = m.String()
	if one.name != networkAlone {
		out.FitSeconds += m.History[len(m.History)-1].Seconds / float64(len(c.folds))
	}
}

// make returns the model of a contender by the rows of fold i, and what its fit took.
func (c *contest) make(ctx context.Context, one contender, f fold, i int) (m *valla.Model, took cost, err error) {
	switch {
	case one.calibration != "":
		m, err = c.m.Calibrate(ctx, f.choose, valla.CalibrateOptions{Method: one.calibration})
		return m, cost{}, err
	case one.again != nil:
		return c.again(ctx, one)
	case one.settings == nil:
		return c.m, cost{}, ctx.Err()
	}
	o := c.fitOptions(f)
	o.Settings = one.settings
	if report := c.o.OnProgress; report != nil {
		label := one.label
		if len(c.folds) > 1 {
			label += fmt.Sprintf(" (%d of %d)", i+1, len(c.folds))
		}
		o.OnProgress = func(p train.Progress) { report(label, p) }
	}
	took = costOf(func() { m, err = c.m.Fit(ctx, c.train, o) })
	return m, took, err
}

const (
	speedRows = 64 // rows that are predicted together
	speedTime = 50 * time.Millisecond
)

// speed returns the least time in microseconds that a [valla.Predictor] of m takes for a row when it
// predicts 64 rows together.
func speed(ctx context.Context, m *valla.Model, set *data.Set) (float64, error) {
	p, err := m.Predictor(valla.PredictorOptions{Sizes: []int{speedRows}})
	if err != nil {
		return 0, err
	}
	rows := set.Rows(dense.Indices(min(speedRows, set.N())))
	x, err := task.Inputs{Shape: m.Task.Inputs.Shape}.Apply(rows.X, tensor.Float64)
	if err != nil {
		return 0, err
	}
	var out valla.Prediction
	if err := p.Predict(ctx, x.Float64s(), &out); err != nil { // what is computed only once
		return 0, err
	}
	least := math.Inf(1)
	for begin := time.Now(); time.Since(begin) < speedTime; {
		start := time.Now()
		if err := p.Predict(ctx, x.Float64s(), &out); err != nil {
			return 0, err
		}
		least = min(least, time.Since(start).Seconds())
	}
	return 1e6 * least / float64(rows.N()), nil
}
