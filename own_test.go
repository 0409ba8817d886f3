package valla

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
)

// ownSettings are settings of a method whose mean is twice the network's output, and whose
// probabilities are softmax of a third of the mean.
type ownSettings struct {
	done func() // called at the end of a fit, may be nil
}

type ownPosterior struct{ of gp.Point }

func (*ownSettings) Label() string { return "Own" }

func (s *ownSettings) Fit(_ context.Context, p gp.Problem, _ gp.Run) (*gp.Fitted, error) {
	if s.done != nil {
		s.done()
	}
	return &gp.Fitted{Posterior: ownPosterior{gp.Point{Net: p.Net, Dtype: p.Dtype()}}, Record: gp.Record{Rows: p.Train.N(), Settings: settings.Map(s)}}, nil
}

func (ownPosterior) String() string           { return "Own" }
func (ownPosterior) State() (gp.State, error) { return gp.State{Header: struct{}{}}, nil }
func (ownPosterior) OwnMean() string          { return "Predictions are doubled." }

func (q ownPosterior) own(g *gp.Gaussian) {
	g.ResizeProbs()
	for i, v := range g.Mean {
		g.Mean[i], g.Probs[i] = 2*v, 2*v/3
	}
	for row := range slices.Chunk(g.Probs, 3) {
		kernel.Softmax(row, row)
	}
}

func (q ownPosterior) Compile(r gp.Request) (gp.Compiled, error) {
	c, err := q.of.Compile(r)
	return ownCompiled{c, q}, err
}

type ownCompiled struct {
	gp.Compiled
	q ownPosterior
}

func (c ownCompiled) Predict(ctx context.Context, x []float64, g *gp.Gaussian) error {
	err := c.Compiled.Predict(ctx, x, g)
	c.q.own(g)
	return err
}

func init() {
	method.Register(gp.Method{Name: "own", Title: "Own", Summary: "Doubled predictions.", New: func() gp.Settings { return new(ownSettings) },
		Restore: func(_ context.Context, net layers.Network, _ likelihood.Likelihood, _ gp.Saved) (gp.Stored, error) {
			return ownPosterior{gp.Point{Net: net, Dtype: tensor.Float64}}, nil
		}})
}

// TestOwnPredictions: a posterior with its own mean and probabilities describes both, and a note
// repeats this description. The model returns these probabilities as usual, batch by batch or not,
// and calibrations correct the probabilities.
func TestOwnPredictions(t *testing.T) {
	network, set := newTestClasses(t, tensor.Float64, 3), thirds(60, 3)
	m := fit(t, network, set, FitOptions{Settings: &ownSettings{}, Validation: new(0.0)})
	if notes := m.History[len(m.History)-1].Notes; !slices.Contains(notes, "Predictions are doubled.") {
		t.Errorf("notes %q", notes)
	}
	logits, err := network.Latent(t.Context(), set.X)
	if err != nil {
		t.Fatal(err)
	}
	tempered := calibrated(t, m, thirds(60, 9), CalibrateTemperature)
	for name, c := range map[string]struct {
		m    *Model
		o    PredictOptions
		link task.Link
		by   float64
	}{
		"usual": {m, PredictOptions{}, Own, 2.0 / 3}, "own": {m, PredictOptions{Link: Own}, Own, 2.0 / 3}, "probit": {m, PredictOptions{Link: Probit}, Probit, 2},
		"temperature": {tempered, PredictOptions{}, Own, 2.0 / 3 / tempered.Calibration.Temperature},
	} {
		want := slices.Clone(logits.Mean)
		for row := range slices.Chunk(want, 3) {
			for k := range row {
				row[k] *= c.by
			}
			kernel.Softmax(row, row)
		}
		p, err := c.m.Predict(t.Context(), set.X, c.o)
		if err != nil {
			t.Fatal(err)
		}
		batches, err := c.m.Predictor(PredictorOptions{PredictOptions: c.o, Sizes: []int{1, 8}})
		if err != nil {
			t.Fatal(err)
		}
		var q Prediction
		if err := batches.Predict(t.Context(), set.X.Float64s(), &q); err != nil {
			t.Fatal(err)
		}
		for i, w := range want {
			if math.Abs(p.Probs[i]-w) > 1e-12 || math.Abs(q.Probs[i]-w) > 1e-12 || p.Link != c.link || q.Link != c.link {
				t.Fatalf("%s: probability %d is %g by %q, in batches %g by %q, want %g by %q", name, i, p.Probs[i], p.Link, q.Probs[i], q.Link, w, c.link)
			}
		}
	}
	if sets := calibrated(t, m, thirds(60, 9), CalibrateConformal); sets.Calibration.Conformal.Link != string(Own) {
		t.Errorf("conformal calibration of the link %q", sets.Calibration.Conformal.Link)
	} else {
		comesBack(t, sets, set.X)
	}
	if _, err := network.Predict(t.Context(), set.X, PredictOptions{Link: Own}); err == nil || !strings.Contains(err.Error(), "without probabilities of its own") {
		t.Errorf("error %v", err)
	}
}
