package valla

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/kernel"
)

// rival is the network alone, or the network alone with numbers that held-out rows choose in a moment. Whoever has no
// posterior would take the best rival.
type rival struct {
	with  string // what the network has, see Verdict.MAPWith
	model *Model
}

// rivals returns the rivals of a fitted model, the safest first: a law has a prior that few rows do not overcome, and a
// noise or a temperature of few rows may be far off. The examples that have chosen for the posterior choose their numbers,
// if there are any.
func (m *Model) rivals(ctx context.Context, e *gp.Examples, d division) (out []rival, err error) {
	numbers, plain := m.MAP().Task.Gaussian(), rival{model: m.MAP()}
	if e == nil || !numbers && !m.Task.Classifies() {
		return []rival{plain}, nil
	}
	hot, err := m.MAP().heated(ctx, e.Rows(dense.Spaced(e.N(), holdout.MostJudges)))
	if err != nil {
		return nil, err
	}
	if !numbers {
		out = append(out, plain)
		if hot != nil {
			out = append(out, rival{"one temperature", hot})
		}
		return out, nil
	}
	if out, err = m.lawfulRivals(ctx, e, d); err != nil {
		return nil, err
	}
	if hot != nil {
		out = append(out, rival{"one noise", hot})
	}
	return append(out, plain), nil
}

// heated returns the model with the temperature that examples choose, or nil if no temperature is best.
func (m *Model) heated(ctx context.Context, e gp.Examples) (*Model, error) {
	y, err := m.Task.TargetsOf(e)
	if err != nil {
		return nil, err
	}
	t, err := m.bestTemperature(ctx, jury{x: e.X, y: y})
	if errors.Is(err, calibrate.ErrEdge) {
		return nil, nil
	}
	m.Calibration = &Calibration{Temperature: t}
	return m, err
}

// lawfulRivals returns the network alone with Student's t, and with the families of the posterior's laws, where these
// are others. Their log densities have tails like the posterior's, so that the difference has none that are heavier.
func (m *Model) lawfulRivals(ctx context.Context, e *gp.Examples, d division) (out []rival, err error) {
	all, err := m.MAP().residuals(ctx, *e, d.order)
	if err != nil || all == nil {
		return nil, err
	}
	families := [][]string{slices.Repeat([]string{law.StudentT}, len(all))}
	if m.Laws != nil {
		var own []string
		for _, l := range m.Laws {
			own = append(own, l.Family)
		}
		if !slices.Equal(own, families[0]) {
			families = append(families, own)
		}
	}
	for _, names := range families {
		r := rival{model: m.MAP()}
		for t, z := range all {
			l, _, err := law.Fit(ctx, z, law.Options{Family: names[t], Own: law.OwnNever, Symmetric: d.pseudo})
			if err != nil {
				return nil, fmt.Errorf("law of the residuals of %q: %w", m.Task.Targets()[t], err)
			}
			r.model.Laws = append(r.model.Laws, l.Remembering())
		}
		if with := lawNames(r.model.Laws); with != "" {
			r.with = "the law " + with
			out = append(out, r)
		}
	}
	return out, nil
}

// bestRival returns the rival that predicts the rows of a verdict best, and its predictions. A rival that comes later must be
// better by more than a standard error: few rows do not show how much a Gaussian loses by a row far outside.
func bestRival(ctx context.Context, all []rival, rows jury) (take rival, judged judged, err error) {
	for i, r := range all {
		j, err := r.model.judged(ctx, rows)
		if err != nil {
			return r, j, err
		}
		if i > 0 {
			if behind, by := kernel.MeanDifference(judged.nlls, j.nlls); behind <= by {
				continue
			}
		}
		take, judged = r, j
	}
	return take, judged, nil
}
