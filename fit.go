package valla

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/method"
)

// FitOptions say how [Model.Fit] makes a posterior. The zero value fits VaLLA.
type FitOptions struct {
	// Settings choose the method, see [Methods]: a pointer to the Settings of gp/valla, of
	// gp/laplace and so on. They are not changed. nil means VaLLA with its defaults.
	Settings gp.Settings
	// Validation is the fraction of the rows held out, those that Train holds out with the
	// same seed; nil means 0.1. Held are rows to validate with in its place.
	Validation *float64
	Held       *data.Set

	gp.Run
}

// Fit fits a posterior to a set and returns the model with it. The weights stay as they are,
// and so does m: a posterior that m has is not used. The set should be the one that the
// network was trained on.
//
// If ctx ends early, Fit returns an error that wraps ctx's, and with it the model of the best
// state so far where the method has one. With any other error the model is nil.
func (m *Model) Fit(ctx context.Context, set *data.Set, o FitOptions) (*Model, error) {
	s, how, err := o.method()
	if err == nil {
		err = checkResume(o.Resume, o.Checkpoint)
	}
	if err != nil {
		return nil, fmt.Errorf("fit: %w", err)
	}
	p, err := m.Problem(set, o)
	if err != nil {
		return nil, fmt.Errorf("fit: %w", err)
	}
	start := time.Now()
	fitted, runErr := s.Fit(ctx, p, o.Run)
	if runErr != nil {
		runErr = fmt.Errorf("fit: %w", runErr)
	}
	if fitted == nil {
		return nil, runErr
	}
	out := m.MAP()
	if err := out.Attach(&Posterior{fitted.Posterior, how.Name, fitted.NoiseVariance}, m.Fingerprint()); err != nil {
		return nil, fmt.Errorf("fit: %w", err)
	}
	out.History = append(out.History, Event{
		Action: ActionFit, Method: how.Name, Label: fitted.Posterior.String(), Program: Version(),
		Seed: o.Seed, Seconds: time.Since(start).Seconds(), Record: recordable(fitted.Record),
	})
	return out, runErr
}

// recordable returns a record that JSON can hold: facts that are not finite become notes.
func recordable(r gp.Record) gp.Record {
	facts := r.Facts
	r.Facts, r.Notes = nil, slices.Clone(r.Notes)
	for _, f := range facts {
		if f.Value-f.Value == 0 {
			r.Facts = append(r.Facts, f)
		} else {
			r.Notes = append(r.Notes, fmt.Sprintf("The %s is %g.", f.Name, f.Value))
		}
	}
	return r
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
	if given := reflect.ValueOf(o.Settings); !given.IsNil() {
		reflect.ValueOf(s).Elem().Set(given.Elem())
	}
	return s, how, nil
}

// Problem returns what Fit fits a method to: the network with the rows of a set, some of
// them held out.
func (m *Model) Problem(set *data.Set, o FitOptions) (gp.Problem, error) {
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
