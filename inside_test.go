package valla

import (
	"errors"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/likelihood"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
)

// observationModel returns the settings of an observation model.
func observationModel(t *testing.T, name string, values ...string) likelihood.Settings {
	t.Helper()
	s, err := likelihood.Named(name, values...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestInside: a fit with Student's t in place of Gaussian noise keeps the network and its mean, learns ν, has a smaller
// NLL on rows with heavy tails, and comes back from its file. A t with very many degrees of freedom gives the
// predictions of the Gaussian.
func TestInside(t *testing.T) {
	set, fresh := heavy(1500, 1), heavy(1500, 2)
	m, err := Train(t.Context(), set, quickTrain())
	if err != nil {
		t.Fatal(err)
	}
	o := FitOptions{Settings: &vallagp.Settings{Inducing: 12, Iterations: 60}, Law: law.Gaussian}
	gaussian := fit(t, m, set, o)
	o.Likelihood = observationModel(t, "student-t")
	inside := loaded(t, written(t, fit(t, m, set, o)))
	if l, ok := likelihood.Of(inside.Likelihood()); !ok || l.(likelihood.StudentT).Nu() > 6 {
		t.Errorf("the likelihood %v of noise with 3 degrees of freedom", inside.Likelihood())
	}
	p, q := predict(t, gaussian, fresh.X), predict(t, inside, fresh.X)
	if !slices.Equal(p.Mean, q.Mean) || m.fingerprint() != inside.fingerprint() {
		t.Error("the observation model has moved the mean")
	}
	few := some(fresh, 200)
	checkDistributions(t, predict(t, inside, few.X), graph.Floats(few.Y))
	a, errA := gaussian.Evaluate(t.Context(), fresh, PredictOptions{})
	b, errB := inside.Evaluate(t.Context(), fresh, PredictOptions{})
	if errors.Join(errA, errB) != nil || !(b.NLL() < a.NLL()-0.2) {
		t.Errorf("NLL %g with t inside, %g with the Gaussian, errors %v, %v", b.NLL(), a.NLL(), errA, errB)
	}
	if r := m.Task.Likelihood(); r.String() != "gaussian" {
		t.Errorf("the fit has changed the network's likelihood to %v", r)
	}
}

// TestConformalOfInfiniteVariance: Student's t with two degrees of freedom has no variance to scale conformal intervals by.
func TestConformalOfInfiniteVariance(t *testing.T) {
	o := quickTrain()
	o.Likelihood = observationModel(t, "student-t", "nu=2")
	m, err := Train(t.Context(), heavy(100, 3), o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Calibrate(t.Context(), heavy(200, 4), CalibrateOptions{Method: CalibrateConformal})
	oneLine(t, err, `divides errors by standard deviations, which are infinite with the likelihood student-t`)
}

// TestInsideRefusals: an observation model in place of the network's own must describe noise around its outputs.
func TestInsideRefusals(t *testing.T) {
	set := heavy(100, 3)
	m, err := Train(t.Context(), set, quickTrain())
	if err != nil {
		t.Fatal(err)
	}
	o := quickTrain()
	o.Likelihood = observationModel(t, "student-t")
	robust, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		m    *Model
		name string
		want string
	}{
		"counts":    {m, "poisson", "row 0 (counting from 0), target"},
		"labels":    {m, "bernoulli", "expected 0 or 1"},
		"bounds":    {m, "censored", "1 columns of targets"},
		"own model": {robust, "student-t", "trained with the likelihood student-t"},
	} {
		_, err := c.m.Fit(t.Context(), set, FitOptions{Settings: &laplace.Settings{}, Likelihood: observationModel(t, c.name)})
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		oneLine(t, err, c.want)
	}
	same := fit(t, m, set, FitOptions{Settings: &laplace.Settings{}, Likelihood: observationModel(t, "gaussian")})
	if !same.Task.Gaussian() {
		t.Error("Gaussian noise in place of Gaussian noise is another model")
	}
}

// TestCalibrateLaw: held-out rows give the network alone a law, which the file keeps, which fresh rows confirm, and
// which Uncalibrated and a temperature end.
func TestCalibrateLaw(t *testing.T) {
	set, held, fresh := heavy(1000, 1), heavy(1500, 4), heavy(1500, 2)
	m, err := Train(t.Context(), set, quickTrain())
	if err != nil {
		t.Fatal(err)
	}
	lawful, err := m.Calibrate(t.Context(), held, CalibrateOptions{Method: CalibrateLaw, Law: law.StudentT})
	if err != nil {
		t.Fatal(err)
	}
	lawful = loaded(t, written(t, lawful))
	if len(lawful.Laws) != 1 || lawful.Laws[0].Family != law.StudentT || lawful.String() != "MAP + student-t" || lawful.Uncalibrated().Laws != nil {
		t.Errorf("%s with the laws %v, and %v without the calibration", lawful, lawful.Laws, lawful.Uncalibrated().Laws)
	}
	before, errA := m.Evaluate(t.Context(), fresh, PredictOptions{})
	after, errB := lawful.Evaluate(t.Context(), fresh, PredictOptions{})
	if errors.Join(errA, errB) != nil || !(after.NLL() < before.NLL()-0.2) {
		t.Errorf("NLL %g with the law, %g without, errors %v, %v", after.NLL(), before.NLL(), errA, errB)
	}
	if !slices.Equal(predict(t, lawful, fresh.X).Mean, predict(t, m, fresh.X).Mean) {
		t.Error("the law has moved the mean")
	}
	tempered, err := lawful.Calibrate(t.Context(), held, CalibrateOptions{})
	if err != nil || tempered.Laws != nil || tempered.String() != "MAP, temperature" {
		t.Errorf("%s with the laws %v, error %v", tempered, tempered.Laws, err)
	}
	for _, o := range []CalibrateOptions{{Method: CalibrateLaw, Law: "cauchy"}, {Method: "none"}} {
		if _, err := m.Calibrate(t.Context(), held, o); !errors.Is(err, ErrSetting) {
			t.Errorf("%+v: error %v", o, err)
		}
	}
}
