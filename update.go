package valla

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/layers"
)

// Update adds the rows of a set to the posterior without a new fit, and returns a model with
// the result; m stays as it is. The posterior becomes exactly the posterior of a fit to the old
// and the new rows with the same hyper-parameters. Everything else stays: the weights, the scaling
// of inputs and targets, the noise, and the method's choices, such as inducing points.
//
// If the mean of the posterior is the network's output, the mean stays, and the error bars become smaller near
// the new rows. In this module only SFR with its own mean and corrected means follow the new targets. If rows cannot be added exactly
// to the posterior, the error says why.
//
// A calibration of m is dropped, since it corrected the old predictions, and a note says so.
//
// The last Event of the history records the update. Its facts have the mean negative log-likelihood of the new
// rows before and after the update. The argument run has the same meaning as in a fit.
func (m *Model) Update(ctx context.Context, set *data.Set, run gp.Run) (_ *Model, err error) {
	defer explain("update", &err)
	start := time.Now()
	notes := m.dropNotes()
	m = m.Uncalibrated()
	q, p, err := m.updating(set)
	if err != nil {
		return nil, err
	}
	seen := m.Seen()
	seen.Add(set)
	notes = append(notes, seen.Notes("A row that the posterior has already counts twice, and makes its error bars too small.")...)
	rows := dense.Spaced(p.Train.N(), holdout.MostJudges)
	added := jury{x: p.Train.Rows(rows).X, y: set.Rows(rows).Y}
	before, err := m.judged(ctx, added)
	if err != nil {
		return nil, err
	}
	updated, err := q.Update(ctx, p, run)
	if err != nil {
		return nil, err
	}
	out := m.copied()
	posterior := *m.Posterior
	posterior.Stored = updated
	out.Posterior = &posterior
	after, err := out.judged(ctx, added)
	if err != nil {
		return nil, fmt.Errorf("the updated posterior cannot predict: %w", err)
	}
	out.History = append(slices.Clone(m.History), Event{
		Action: ActionUpdate, Method: m.Posterior.Method, Label: updated.String(), Program: Version(),
		Seed: run.Seed, Seconds: time.Since(start).Seconds(), Marks: marksOf(set),
		Record: recordable(gp.Record{Rows: p.Train.N(), Notes: notes, Facts: gainFacts(before, after)}),
	})
	return out, nil
}

// updating returns the posterior, if it takes rows, and the rows of a set as a problem with
// the noise that the fit has found.
func (m *Model) updating(set *data.Set) (gp.Updater, gp.Problem, error) {
	if m.Posterior == nil {
		return nil, gp.Problem{}, fmt.Errorf("the model has no posterior to add rows to, expected one that was fitted")
	}
	if layers.Members(m.Net) != nil {
		return nil, gp.Problem{}, fmt.Errorf("rows cannot be added to an ensemble of networks: fit again, to all rows")
	}
	q, ok := m.Posterior.Stored.(gp.Updater)
	if !ok {
		return nil, gp.Problem{}, fmt.Errorf("rows cannot be added to a posterior of the method %s: fit again, to all rows", m.Posterior.Method)
	}
	p := gp.Problem{Net: m.network(), Likelihood: m.Likelihood()}
	var err error
	p.Train, err = m.Task.Examples(set, m.Dtype())
	return q, p, err
}
