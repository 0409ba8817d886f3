package valla

import (
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/task"
	vallagp "github.com/go-valla/valla/gp/valla"
)

// insideModels are a network, and fits to it with Student's t and with a mixture in place of its Gaussian noise, for rows of
// Gaussian noise.
func insideModels(t *testing.T, o FitOptions) (m *Model, set *data.Set, inside map[string]*Model) {
	t.Helper()
	m, set = trained(t)
	o.Settings = &laplace.Settings{Weights: []string{"last-layer"}}
	inside = map[string]*Model{}
	for _, name := range []string{"student-t", "mixture"} {
		o.Likelihood = observationModel(t, name)
		inside[name] = loaded(t, written(t, fit(t, m, set, o)))
	}
	return m, set, inside
}

// TestInsideRival: a fit with an observation model of its own has the rivals of a fit with Gaussian noise to the same network,
// since both posteriors stand in place of the same network.
func TestInsideRival(t *testing.T) {
	o := FitOptions{Held: wave(200, 3), Judge: wave(400, 2), Law: law.Gaussian}
	m, set, all := insideModels(t, o)
	o.Settings = &laplace.Settings{Weights: []string{"last-layer"}}
	want := verdict(t, m, set, o)
	for name, inside := range all {
		v := inside.lastFit().Verdict
		if v.MAPNLL != want.MAPNLL || v.MAPWith != want.MAPWith || v.MAPCoverage != want.MAPCoverage {
			t.Errorf("%s: NLL %.4f of the network alone with %q, want %.4f with %q", name, v.MAPNLL, v.MAPWith, want.MAPNLL, want.MAPWith)
		}
		near(t, name+": NLL of the rival in the file", scores(t, inside.Alone(), o.Judge).NLL(), v.MAPNLL, 1e-12)
	}
}

// TestInsideNetwork: the network of a fit with an observation model of its own is the network that was trained with Gaussian
// noise: alone, for another fit, trained again, and as a member of an ensemble.
func TestInsideNetwork(t *testing.T) {
	m, set, all := insideModels(t, FitOptions{})
	x := wave(20, 2).X
	for name, inside := range all {
		if alone := inside.MAP(); alone.Task.Likelihood().String() != "gaussian" || !slices.Equal(numbers(predict(t, alone, x)), numbers(predict(t, m, x))) {
			t.Errorf("%s: the network alone has the likelihood %v", name, alone.Task.Likelihood())
		}
		s := &laplace.Settings{Weights: []string{"last-layer"}}
		for given, of := range map[string]likelihood.Settings{"": nil, "gaussian": observationModel(t, "gaussian"), name: observationModel(t, name)} {
			o := FitOptions{Settings: s, Likelihood: of}
			if got, want := fit(t, inside, set, o), fit(t, m, set, o); got.Likelihood().String() != want.Likelihood().String() || !slices.Equal(numbers(predict(t, got, x)), numbers(predict(t, want, x))) {
				t.Errorf("%s: another fit with %q has the likelihood %v", name, given, got.Likelihood())
			}
		}
		again, err := inside.Several(t.Context(), set, 1, nil)
		if err != nil || again.fingerprint() != m.fingerprint() {
			t.Errorf("%s: trained again: error %v", name, err)
		}
		if _, err := inside.Quantiles(t.Context(), set, 0.9, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		both, err := Combine(inside, m)
		if err != nil || both.Task.Likelihood().String() != "gaussian" {
			t.Errorf("%s: an ensemble: error %v", name, err)
		}
		p, err := inside.Problem(t.Context(), set, FitOptions{})
		if err != nil || !likelihood.IsGaussian(p.Likelihood) {
			t.Errorf("%s: the problem of another fit has the likelihood %v, error %v", name, p.Likelihood, err)
		}
	}
}

// TestInsideOfEarlierFile: a file of an earlier program does not say that the observation model is of the fit. Its history
// tells how the network was trained.
func TestInsideOfEarlierFile(t *testing.T) {
	m, set, all := insideModels(t, FitOptions{})
	o := quickTrain()
	o.Likelihood = observationModel(t, "student-t")
	own, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	own = loaded(t, written(t, fit(t, own, set, FitOptions{Settings: &laplace.Settings{}})))
	if l := own.MAP().Likelihood().String(); l != "student-t" {
		t.Errorf("a network that was trained with Student's t has the likelihood %s", l)
	}
	for name, inside := range all {
		earlier := *inside.Task.Outputs.(*task.Regression)
		earlier.Inside = false
		again := loaded(t, written(t, inside.with(&earlier)))
		if !slices.Equal(numbers(predict(t, again, set.X)), numbers(predict(t, inside, set.X))) {
			t.Errorf("%s: other predictions after a file of an earlier program", name)
		}
		if !slices.Equal(numbers(predict(t, again.MAP(), set.X)), numbers(predict(t, m, set.X))) {
			t.Errorf("%s: another network alone after a file of an earlier program", name)
		}
	}
}

// TestInsideRefit: a posterior that is made anew from sums keeps the parameters of its observation model, also where the network
// was trained with this model.
func TestInsideRefit(t *testing.T) {
	set, o := wave(200, 1), quickTrain()
	for name, of := range map[string]likelihood.Settings{"inside": nil, "trained": observationModel(t, "student-t")} {
		o.Likelihood = of
		m, err := Train(t.Context(), set, o)
		if err != nil {
			t.Fatal(err)
		}
		how := FitOptions{Settings: &vallagp.Settings{Inducing: 8, Iterations: 60}}
		if of == nil {
			how.Likelihood = observationModel(t, "student-t")
		}
		m = fit(t, m, set, how)
		again, err := m.Refit(t.Context(), nil, 0, func(*gp.Examples) (*gp.Fitted, error) {
			return &gp.Fitted{Posterior: m.Posterior.Stored, NoiseVariance: m.Posterior.NoiseVariance}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(numbers(predict(t, again, set.X)), numbers(predict(t, m, set.X))) {
			t.Errorf("%s: other predictions of the same posterior", name)
		}
	}
}

// TestInsideWarnings: a network that is hardly trained is worse than the mean of the targets, whatever the noise of a fit is.
func TestInsideWarnings(t *testing.T) {
	m, set := newTestModel(t, tensor.Float64, 0, 3), wave(60, 1)
	for _, name := range []string{"gaussian", "student-t"} {
		f := fit(t, m, set, FitOptions{Settings: &laplace.Settings{}, Likelihood: observationModel(t, name)})
		if notes := strings.Join(f.lastFit().Notes, " "); !strings.Contains(notes, "The network is worse than predicting the mean") {
			t.Errorf("%s: notes %q", name, notes)
		}
	}
}
