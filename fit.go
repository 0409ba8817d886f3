package valla

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/gp/unseen"
)

// FitOptions say how [Model.Fit] makes a posterior. The zero value fits VaLLA.
type FitOptions struct {
	// Settings choose the method, see [Methods]: a pointer to the Settings of gp/valla, of
	// gp/laplace and so on; nil means the default method with its defaults.
	Settings gp.Settings
	// Validation is the fraction of the rows held out, those that Train holds out with the
	// same seed; nil means 0.1. Held are rows to validate with in its place. Without either,
	// a model whose weights came from a file, and which may have seen the rows, is fitted to
	// all of them and validated with pseudo-rows that stand for ones it has not seen, see
	// package gp/unseen.
	Validation *float64
	Held       *data.Set

	gp.Run
}

// Fit returns the model with a posterior that is fitted to a set. Weights and means stay as
// they are, and a posterior that m has is not used.
//
// Where ctx ends, the model of the best state so far, if the method has one, comes with an
// error that wraps ctx's. On every other error the model is nil.
func (m *Model) Fit(ctx context.Context, set *data.Set, o FitOptions) (*Model, error) {
	s, how, err := o.method()
	if err != nil {
		return nil, fmt.Errorf("fit: %w", err)
	}
	start := time.Now()
	p, notes, err := m.problem(ctx, set, o)
	if err != nil {
		return nil, fmt.Errorf("fit: %w", err)
	}
	fitted, runErr := s.Fit(ctx, p, o.Run)
	if fitted == nil {
		return nil, runErr
	}
	fitted.Record.Notes = append(notes, fitted.Record.Notes...)
	out := m.MAP()
	if err := out.Attach(&Posterior{fitted.Posterior, how.Name, fitted.NoiseVariance}, m.Fingerprint()); err != nil {
		return nil, errors.Join(runErr, fmt.Errorf("fit: %w", err))
	}
	out.History = append(out.History, Event{
		Action: ActionFit, Method: how.Name, Label: fitted.Posterior.String(), Program: Version(),
		Seed: o.Seed, Seconds: time.Since(start).Seconds(), Record: fitted.Record,
	})
	return out, runErr
}

// method returns a copy of the settings, which fits complete, and their method.
func (o FitOptions) method() (gp.Settings, gp.Method, error) {
	if o.Settings == nil {
		how, err := method.Lookup(method.Default)
		return how.New(), how, err
	}
	how, err := method.Of(o.Settings)
	if err != nil {
		return nil, how, err
	}
	s := how.New()
	reflect.ValueOf(s).Elem().Set(reflect.ValueOf(o.Settings).Elem())
	return s, how, nil
}

// Problem returns what Fit fits a method to: the network with the rows of a set, some of
// them held out, or with pseudo-rows, see FitOptions. It returns ctx's error if ctx ends
// first.
func (m *Model) Problem(ctx context.Context, set *data.Set, o FitOptions) (gp.Problem, error) {
	p, _, err := m.problem(ctx, set, o)
	return p, err
}

// problem is Problem with notes for the record.
func (m *Model) problem(ctx context.Context, set *data.Set, o FitOptions) (gp.Problem, []string, error) {
	elsewhere := len(m.History) > 0 && m.History[0].Action == ActionWeights
	if !elsewhere || o.Held != nil {
		p, err := m.held(set, o)
		return p, nil, err
	}
	if o.Validation != nil {
		p, err := m.held(set, o)
		if *o.Validation == 0 {
			return p, nil, err
		}
		return p, []string{"The weights came from a file, so the network may have been trained on the rows held out; where it was, error bars chosen by them are too small."}, err
	}
	o.Validation = new(0.0)
	p, err := m.held(set, o)
	if err != nil {
		return p, nil, err
	}
	p, found, err := unseen.Problem(ctx, p, o.Seed)
	if err != nil {
		return p, nil, err
	}
	return p, []string{seenNote(p, found)}, nil
}

// seenNote says what was done because the network may have seen the rows.
func seenNote(p gp.Problem, found unseen.Found) string {
	note := fmt.Sprintf("The weights came from a file, so the network may have been trained on these rows: "+
		"%d points on the way from a row to its nearest neighbour validated the fit.", p.Validation.N())
	if found.ByHeart() {
		note += fmt.Sprintf(" It knows them by heart, being off by %.3g on them, in units of the network; its error on new rows was taken to be %.3g, that of kernel regression.",
			found.Own, found.Honest)
	}
	return note
}

// held returns a problem with rows held out.
func (m *Model) held(set *data.Set, o FitOptions) (gp.Problem, error) {
	p := gp.Problem{Net: m.Net, Likelihood: m.Task.Outputs.Likelihood()}
	if err := m.Task.CheckSet(set); err != nil {
		return p, err
	}
	rows, held := set, o.Held
	if held == nil {
		fraction := 0.1
		if o.Validation != nil {
			fraction = *o.Validation
		}
		var err error
		if rows, held, err = Holdout(set, fraction, o.Seed); err != nil {
			return p, err
		}
	}
	var err error
	if p.Train, err = m.Task.Examples(rows, m.Dtype()); err != nil || held == nil {
		return p, err
	}
	validation, err := m.Task.Examples(held, m.Dtype())
	p.Validation = &validation
	return p, err
}
