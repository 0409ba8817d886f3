package valla

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/holdout"
)

// Refit returns a model with a new posterior of the method of m, which the function fit makes, such as from
// sums over more rows than m was fitted to; see package pass. Rows held out, if there are any, choose the
// standard deviations, the laws and the temperature, as in [Model.Fit]; of 1,000 rows or more, half choose and half are for the
// [Verdict]. Without them the laws and the temperature of the last fit stay. A calibration of m is dropped, and a note says so. The
// function gets the rows that choose as the network takes them, or nil. A model without a posterior is
// an error.
//
// The last Event of the returned model's history has the settings of the last fit of m with the settings of
// the new record over them, where nil takes a setting away. It has no time, so that the same posterior gives the same model.
func (m *Model) Refit(ctx context.Context, held *data.Set, seed uint64, fit func(choose *gp.Examples) (*gp.Fitted, error)) (*Model, error) {
	if m.Posterior == nil {
		return nil, errors.New("the model has no posterior, expected one that was fitted to a sample of the rows")
	}
	p, rows, err := m.refitting(held, seed)
	if err != nil {
		return nil, err
	}
	f, err := fit(p.Validation)
	if err != nil {
		return nil, err
	}
	e := Event{Method: m.Posterior.Method, Seed: seed}
	if last := m.lastFit(); last != nil {
		all := map[string]any{}
		maps.Copy(all, last.Settings)
		maps.Copy(all, f.Record.Settings)
		maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
		f.Record.Settings, e.Inputs = all, last.Inputs
		if held == nil {
			e.Marks, e.MAPLaws, e.MAPTemperature = last.Marks, last.MAPLaws, last.MAPTemperature
		}
	}
	f.Record.Notes = append(f.Record.Notes, m.dropNotes()...)
	if held == nil {
		f.Record.Notes = append(f.Record.Notes, keptNote)
	}
	out, err := m.adopt(ctx, f, e, p, rows)
	if err == nil && held == nil {
		out.Laws, out.Posterior.Temperature = m.Uncalibrated().Laws, m.Posterior.Temperature
	}
	return out, cmp.Or(err, ctx.Err())
}

// keptNote says what a fit to all rows without held-out rows does not know.
const keptNote = "No rows were held out: the prior, the noise and the laws of residuals are those that the sample chose, and how familiar a row is stays unknown. " +
	"The setting validation-data, with rows that training has not seen, chooses them for all rows."

// refitting divides rows held out into rows that choose and rows that judge.
func (m *Model) refitting(held *data.Set, seed uint64) (p gp.Problem, d division, err error) {
	p = gp.Problem{Net: m.network(), Likelihood: m.Likelihood()}
	if held == nil {
		return p, d, nil
	}
	if err := m.Task.CheckSet(held); err != nil {
		return p, d, err
	}
	d = division{train: held, held: held, fresh: true}
	if held.N() >= holdout.EnoughToSplit {
		d.held, d.judge = holdout.Halves(held, seed)
	}
	if p.Train, err = m.Task.Examples(d.held, m.Dtype()); err == nil {
		p.Validation, p.Tempered = &p.Train, true
	}
	return p, d, err
}

// lastFit returns the event of the last fit, or nil.
func (m *Model) lastFit() *Event {
	for i := range slices.Backward(m.History) {
		if e := &m.History[i]; e.Action == ActionFit {
			return e
		}
	}
	return nil
}
