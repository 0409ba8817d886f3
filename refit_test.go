package valla

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// refitted fits the method of a model again, to all rows of a set.
func refitted(t *testing.T, m *Model, set, held *data.Set) *Model {
	t.Helper()
	out, err := m.Refit(t.Context(), held, 1, func(*gp.Examples) (*gp.Fitted, error) {
		of := gp.Problem{Net: layers.Network(m.Net), Likelihood: m.Likelihood()}
		var err error
		if of.Train, err = m.Task.Examples(set, m.Dtype()); err != nil {
			return nil, err
		}
		s := &laplace.Settings{Structure: "diag", PriorStd: 0.3}
		if !m.Task.Classifies() {
			s.NoiseStd = 0.5
		}
		return s.Fit(context.Background(), of, gp.Run{})
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRefitKeeps: a fit to more rows without held-out rows keeps the law of numbers, the temperature of classes, and what the verdict
// compares with; held-out rows find them anew. Held-out rows alone know the spreads: the spreads of a sample are larger than the spreads of all rows.
func TestRefitKeeps(t *testing.T) {
	set := heavy(600, 1)
	m, err := Train(t.Context(), set, quickTrain())
	if err != nil {
		t.Fatal(err)
	}
	f := fit(t, m, set, FitOptions{Settings: &laplace.Settings{Structure: "diag"}})
	again := refitted(t, f, heavy(1200, 2), nil)
	if f.Laws == nil || !reflect.DeepEqual(again.Laws, f.Laws) || !reflect.DeepEqual(again.Alone().Laws, f.Alone().Laws) || again.spreads() != nil || again.UsualSpread() != 0 || again.Profile() == nil || again.lastFit().Marks == nil {
		t.Errorf("laws %v and %v of the network alone, before %v and %v; spreads %v", again.Laws, again.Alone().Laws, f.Laws, f.Alone().Laws, again.spreads())
	}
	chosen := refitted(t, f, heavy(1200, 2), heavy(100, 3))
	if chosen.Laws == nil || reflect.DeepEqual(chosen.Laws, f.Laws) || chosen.spreads() == nil {
		t.Errorf("held-out rows choose the laws %v, before %v; spreads %v", chosen.Laws, f.Laws, chosen.spreads())
	}
	lawful := calibrated(t, f, heavy(200, 4), CalibrateLaw)
	again = refitted(t, lawful, heavy(1200, 2), nil)
	if notes := again.History[len(again.History)-1].Notes; !reflect.DeepEqual(again.Laws, f.Laws) || len(notes) == 0 || !strings.Contains(notes[0], "was dropped") {
		t.Errorf("laws %v after a calibration, before it %v; notes %q", again.Laws, f.Laws, notes)
	}
	c := fit(t, newTestClasses(t, tensor.Float64, 3), thirds(200, 1), FitOptions{Settings: &laplace.Settings{Structure: "diag"}})
	warm := *c.Posterior
	warm.Temperature = 1.5
	c.Posterior = &warm
	if got := refitted(t, c, thirds(200, 1), nil).Posterior.Temperature; got != 1.5 {
		t.Errorf("temperature %g, before 1.5", got)
	}
	twice := fit(t, c, thirds(200, 1), FitOptions{Settings: &laplace.Settings{Structure: "diag"}})
	for name, m := range map[string]*Model{"one fit": c, "two fits": twice, "a fit anew": refitted(t, c, thirds(200, 1), nil), "with rows held out": refitted(t, c, thirds(200, 1), thirds(100, 2))} {
		if m.Profile() == nil {
			t.Errorf("%s: the model of a network from elsewhere does not know its inputs", name)
		}
	}
}

// TestRefitSettings: the settings of the new record go over those of the last fit, and nil takes one away.
func TestRefitSettings(t *testing.T) {
	m := fit(t, newTestClasses(t, tensor.Float64, 3), thirds(200, 1), FitOptions{Settings: &laplace.Settings{Structure: "diag", Hyper: "fixed", PriorStd: 0.3}})
	out, err := m.Refit(t.Context(), nil, 1, func(*gp.Examples) (*gp.Fitted, error) {
		return &gp.Fitted{Posterior: m.Posterior.Stored, Record: gp.Record{Settings: map[string]any{"hyper": "grid", "prior-std": nil}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got := out.History[len(out.History)-1].Settings
	if _, there := got["prior-std"]; there || got["hyper"] != "grid" || got["structure"] != "diag" {
		t.Errorf("settings %v", got)
	}
}

// said returns laws as text.
func said(t *testing.T, laws []law.Law) string {
	t.Helper()
	text, err := json.Marshal(laws)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestUpdateAfterLaw: rows that are added to a posterior end the law of a calibration, with a note, and the law of the fit is back.
func TestUpdateAfterLaw(t *testing.T) {
	set := heavy(600, 1)
	m, err := Train(t.Context(), set, quickTrain())
	if err != nil {
		t.Fatal(err)
	}
	f := fit(t, m, set, FitOptions{Settings: &laplace.Settings{}})
	f = loaded(t, written(t, f))
	lawful := loaded(t, written(t, calibrated(t, f, heavy(200, 4), CalibrateLaw)))
	u, err := lawful.Update(t.Context(), heavy(50, 5), gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	if notes := u.History[len(u.History)-1].Notes; f.Laws == nil || said(t, u.Laws) != said(t, f.Laws) || len(notes) == 0 || !strings.Contains(notes[0], "was dropped") {
		t.Errorf("laws %s after the update, of the fit %s; notes %q", said(t, u.Laws), said(t, f.Laws), notes)
	}
}
