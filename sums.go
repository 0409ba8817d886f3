package valla

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
)

// Sums are sums over rows of which a posterior is a function, see [gp.Summed]. They may be
// computed in parts, by way of package pass.
type Sums struct {
	gp.Sums
	m *Model
}

// Sums starts the sums for a posterior of other rows. That of m was fitted to a sample, from
// which comes what is no sum: the inducing points, the directions, the structure, and the noise
// where no rows held out choose it. A posterior that is no function of sums is an error.
func (m *Model) Sums(run gp.Run) (*Sums, error) {
	if m.Posterior == nil {
		return nil, fmt.Errorf("passes: the model has no posterior, expected one that was fitted to a sample of the rows")
	}
	q, ok := m.Posterior.Stored.(gp.Summed)
	if !ok {
		return nil, fmt.Errorf("passes: a posterior of the method %s is no function of sums over rows; those of lla, ella and valla are", m.Posterior.Method)
	}
	l := m.Task.Outputs.Likelihood()
	if v := m.Posterior.NoiseVariance; v > 0 {
		l = likelihood.NewGaussian(v, m.Dtype())
	}
	s, err := q.Sums(l, run)
	if err != nil {
		return nil, fmt.Errorf("passes: %w", err)
	}
	return &Sums{s, m.Uncalibrated()}, nil
}

// AddRows adds the rows of a set.
func (s *Sums) AddRows(ctx context.Context, set *data.Set) error {
	e, err := s.m.Task.Examples(set, s.m.Dtype())
	if err != nil {
		return err
	}
	return s.Add(ctx, e)
}

// Model returns a model with the posterior of all the rows that the sums are over. Rows held
// out, if there are any, choose the standard deviations, as in a fit; of 1,000 or more half
// choose and half are for the [Verdict]. The last Event of the history records the passes, but not
// their time, so that the same sums give the same model.
func (s *Sums) Model(ctx context.Context, rows int64, held *data.Set, seed uint64) (*Model, error) {
	m, err := s.model(ctx, rows, held, seed)
	if err != nil {
		return nil, fmt.Errorf("passes: %w", err)
	}
	return m, nil
}

func (s *Sums) model(ctx context.Context, rows int64, held *data.Set, seed uint64) (*Model, error) {
	if rows < 1 {
		return nil, errors.New("no rows")
	}
	d, p, err := s.division(held, seed)
	if err != nil {
		return nil, err
	}
	f, err := s.Finish(ctx, int(rows), p.Validation)
	if err != nil {
		return nil, err
	}
	out := s.m.MAP()
	method := s.m.Posterior.Method
	if err := out.Attach(&Posterior{f.Posterior, method, f.NoiseVariance}, s.m.Fingerprint()); err != nil {
		return nil, err
	}
	e := Event{Action: ActionFit, Method: method, Label: f.Posterior.String(), Program: Version(), Seed: seed, Record: recordable(f.Record)}
	settings := map[string]any{}
	if sample := s.m.lastFit(); sample != nil {
		maps.Copy(settings, sample.Settings)
		e.UsualSpread = sample.UsualSpread
	}
	maps.Copy(settings, e.Settings)
	settings["passes"] = true
	e.Settings = settings
	if held != nil {
		if err := out.examine(ctx, &e, p, d); err != nil {
			return nil, err
		}
	}
	out.History = append(out.History, e)
	return out, nil
}

// division divides rows held out into those that choose and those that judge.
func (s *Sums) division(held *data.Set, seed uint64) (d division, p gp.Problem, err error) {
	p = gp.Problem{Net: s.m.Net, Likelihood: s.m.Task.Outputs.Likelihood()}
	if held == nil {
		return d, p, nil
	}
	if err := s.m.Task.CheckSet(held); err != nil {
		return d, p, err
	}
	d = division{train: held, held: held, fresh: true}
	if held.N() >= EnoughToSplit {
		d.held, d.judge = Halves(held, seed)
	}
	if p.Train, err = s.m.Task.Examples(d.held, s.m.Dtype()); err == nil {
		p.Validation = &p.Train
	}
	return d, p, err
}

// lastFit is the event of the fit, or nil.
func (m *Model) lastFit() *Event {
	for i := range m.History {
		if e := &m.History[len(m.History)-1-i]; e.Action == ActionFit {
			return e
		}
	}
	return nil
}
