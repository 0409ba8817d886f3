package valla

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data/sets"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/sfr"
)

// TestTemperatureOne: it changes nothing, not even the last bit.
func TestTemperatureOne(t *testing.T) {
	x := wave(20, 1).X
	for name, m := range map[string]*Model{"numbers": newTestModel(t, tensor.Float64, 3, 4), "classes": newTestClasses(t, tensor.Float64, 3)} {
		one := *m
		one.Calibration = &Calibration{Temperature: 1}
		if !slices.Equal(numbers(predict(t, &one, x)), numbers(predict(t, m, x))) {
			t.Errorf("%s: other predictions", name)
		}
	}
}

// TestCalibrateTemperature: the temperature minimises the NLL of its rows, with a posterior
// and without one, and means stay.
func TestCalibrateTemperature(t *testing.T) {
	posterior := FitOptions{Settings: &laplace.Settings{Hyper: "fixed", PriorStd: 0.7}, Validation: new(0.0)}
	classes := newTestClasses(t, tensor.Float64, 3)
	held := wave(60, 9)
	for name, m := range map[string]*Model{
		"MAP": newTestModel(t, tensor.Float64, 0, 4), "VaLLA": newTestModel(t, tensor.Float64, 3, 4),
		"classes": classes, "classes, LLA": fit(t, classes, thirds(60, 3), posterior), "classes, float32": newTestClasses(t, tensor.Float32, 3),
	} {
		rows := held
		if predict(t, m, held.X).Classes != nil {
			rows = thirds(60, 9)
		}
		nll := func(m *Model) float64 {
			s, err := m.Evaluate(t.Context(), rows, PredictOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return s.NLL()
		}
		c := calibrated(t, m, rows, "")
		best, other := nll(c), *c
		for k := -60; k <= 60; k++ {
			other.Calibration = &Calibration{Temperature: c.Calibration.Temperature * math.Exp(float64(k)/100)}
			if v := nll(&other); v < best-1e-9 {
				t.Errorf("%s: NLL %.10g at the temperature %g, %.10g at %g", name, best, c.Calibration.Temperature, v, other.Calibration.Temperature)
			}
		}
		e := c.History[len(c.History)-1]
		near(t, name+": NLL before", e.Facts[1].Value, nll(m), 1e-9)
		near(t, name+": NLL after", e.Facts[2].Value, best, 1e-9)
		if e.Action != ActionCalibrate || e.Method != CalibrateTemperature || e.Rows != 60 || e.Label != m.String()+", temperature" || c.String() != e.Label {
			t.Errorf("%s: event %+v", name, e)
		}
		if m.Calibration != nil || len(m.History) == len(c.History) || !slices.Equal(predict(t, c, rows.X).Mean, predict(t, m, rows.X).Mean) {
			t.Errorf("%s: the model or the means have changed", name)
		}
		if again := calibrated(t, c, rows, CalibrateTemperature); math.Abs(again.Calibration.Temperature-c.Calibration.Temperature) > 1e-12 {
			t.Errorf("%s: %g the second time, %g before", name, again.Calibration.Temperature, c.Calibration.Temperature)
		}
	}
}

// TestCalibrateConformal: bounds and sets hold their probability for fresh rows, though the
// model is wrong; everything else stays. So it is for each of several targets.
func TestCalibrateConformal(t *testing.T) {
	twoTargets, err := Train(t.Context(), twins(60, 1), quickTrain())
	if err != nil {
		t.Fatal(err)
	}
	set, fresh := wave(400, 5), wave(2000, 6)
	for name, m := range map[string]*Model{"MAP": newTestModel(t, tensor.Float64, 0, 4), "temperature": calibrated(t, newTestModel(t, tensor.Float64, 3, 4), wave(50, 7), ""), "two targets": twoTargets} {
		rows, test := set, fresh
		if name == "two targets" {
			rows, test = twins(400, 5), twins(2000, 6)
		}
		c := calibrated(t, m, rows, CalibrateConformal)
		p, before := predict(t, c, test.X), predict(t, m, test.X)
		p.Conformal, before.Conformal = nil, nil
		if !slices.Equal(numbers(p), numbers(before)) {
			t.Errorf("%s: other predictions", name)
		}
		covers(t, name, c, predict(t, c, test.X), test.Y)
	}
	classes := thirds(2400, 5) // whose classes depend on all rows
	c := calibrated(t, newTestClasses(t, tensor.Float64, 3), classes.Rows(upTo(0, 400)), CalibrateConformal)
	rest := classes.Rows(upTo(400, 2000))
	covers(t, "classes", c, predict(t, c, rest.X), rest.Y)
}

// covers checks the coverage of intervals or sets at rows.
func covers(t *testing.T, name string, m *Model, p *Prediction, y *tensor.Dense) {
	t.Helper()
	inside, size, err := p.Covered(y.Float64s(), 0.9)
	share := float64(inside) / float64(len(y.Float64s()))
	if err != nil || math.Abs(share-0.9) > 0.05 { // three standard errors of a Beta(361, 40)
		t.Errorf("%s: coverage %g, want 0.9, error %v", name, share, err)
	}
	if p.Classes != nil && !(size > 0.5 && size <= 3) {
		t.Errorf("%s: %g classes in a set", name, size)
	}
	if got := loaded(t, written(t, m)); inJSON(t, got.Calibration) != inJSON(t, m.Calibration) || !slices.Equal(got.Calibration.Conformal.Scores, m.Calibration.Conformal.Scores) {
		t.Errorf("%s: another calibration comes back from the file", name)
	}
}

// TestCalibrationEnds: another posterior ends a calibration.
func TestCalibrationEnds(t *testing.T) {
	set := wave(40, 3)
	m := fit(t, newTestModel(t, tensor.Float64, 0, 3), set, FitOptions{Settings: &sfr.Settings{Points: 10, PriorStd: 0.7}, Validation: new(0.0)})
	usual := m.UsualSpread()
	c := calibrated(t, calibrated(t, m, wave(40, 4), ""), wave(50, 5), CalibrateConformal)
	near(t, "usual spread", c.UsualSpread(), usual*c.Calibration.Temperature, 1e-12)
	if c.String() != m.String()+", temperature, conformal" || c.Uncalibrated().String() != m.String() || len(c.Uncalibrated().History) != len(m.History) {
		t.Errorf("names %q and %q", c, c.Uncalibrated())
	}
	if len(c.History[len(c.History)-1].Notes) != 0 {
		t.Errorf("notes %q", c.History[len(c.History)-1].Notes)
	}
	updated, err := c.Update(t.Context(), wave(20, 6), gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := m.Update(t.Context(), wave(20, 6), gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	e, want := updated.History[len(updated.History)-1], plain.History[len(plain.History)-1]
	if updated.Calibration != nil || len(e.Notes) != 1 || inJSON(t, e.Facts) != inJSON(t, want.Facts) {
		t.Errorf("calibration %v after an update, event %+v, want the facts %+v", updated.Calibration, e, want.Facts)
	}
	if again := fit(t, c, set, FitOptions{Validation: new(0.0), Settings: &laplace.Settings{}}); again.Calibration != nil || len(again.History) != 2 {
		t.Errorf("calibration %v after a fit, history %+v", again.Calibration, again.History)
	}
	own := calibrated(t, m, wave(5, 5), CalibrateTemperature) // newTestModel says that it was trained on 5 rows
	if notes := own.History[len(own.History)-1].Notes; len(notes) != 1 {
		t.Errorf("notes %q on the rows of the training", notes)
	}
}

// TestCalibrateErrors: each is one line, of the right kind.
func TestCalibrateErrors(t *testing.T) {
	m, ctx := newTestClasses(t, tensor.Float64, 3), t.Context()
	_, err := m.Calibrate(ctx, thirds(9, 1), CalibrateOptions{Method: "platt"})
	oneLine(t, err, `calibrate: bad setting: calibration method "platt", expected "temperature" or "conformal"`)
	_, err = m.Calibrate(ctx, wave(9, 1), CalibrateOptions{})
	oneLine(t, err, "calibrate: row 0 (counting from 0): the target", "none of the 3 classes")
	stopped, stop := context.WithCancel(ctx)
	stop()
	for _, how := range []string{CalibrateTemperature, CalibrateConformal} {
		if _, err := m.Calibrate(stopped, thirds(9, 1), CalibrateOptions{Method: how}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, ended: %v", how, err)
		}
	}
	p := predict(t, m, wave(3, 1).X)
	_, err = p.Sets(0.9)
	oneLine(t, err, "calibrated by the method conformal")
	mc, err := m.Calibrate(ctx, thirds(9, 1), CalibrateOptions{Method: CalibrateConformal, PredictOptions: PredictOptions{Link: MonteCarlo, Samples: 10}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = mc.Predict(ctx, wave(3, 1).X, PredictOptions{}); !errors.Is(err, ErrSetting) {
		t.Errorf("another link: %v", err)
	}
	oneLine(t, err, `the link is "probit", but the conformal calibration was made with "mc"`)
	p, err = mc.Predict(ctx, wave(3, 1).X, PredictOptions{Link: MonteCarlo})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = p.Sets(0.95); !errors.Is(err, ErrSetting) {
		t.Errorf("too few rows: %v", err)
	}
	oneLine(t, err, "needs a conformal calibration with 19 rows at least, this one has 9")
}

// TestConformalOnTables: a network is trained on half of a table's rows. Of the others, 200
// random divisions calibrate with one half and count in the other. The coverage of 90 % intervals is
// then k/(n+1) on average, k = ⌈0.9 (n+1)⌉, and the number of rows inside is beta-binomial,
// whatever the table. With -v it prints the table in docs/uncertainty.md.
func TestConformalOnTables(t *testing.T) {
	const folder, level, splits = "../shared/data", 0.9, 200
	if _, err := os.Stat(filepath.Join(folder, "uci")); err != nil || testing.Short() {
		t.Skip("needs the UCI tables in ", folder)
	}
	for _, name := range []string{"boston", "concrete", "energy"} {
		s, err := sets.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		of, err := s.Table(folder, 0)
		if err != nil {
			t.Fatal(err)
		}
		train, pool := Halves(of.Train, 1)
		m, err := Train(t.Context(), train, TrainOptions{Training: Training{Iterations: 1000}})
		if err != nil {
			t.Fatal(err)
		}
		p, y := predict(t, m, pool.X), pool.Y.Float64s()
		gaussian, _, err := p.Covered(y, level)
		if err != nil {
			t.Fatal(err)
		}
		n, rng, inside, width := len(y)/2, newRand(1, 0), 0, 0.0
		for range splits {
			order := rng.Perm(len(y))
			in := func(v []float64, at []int) (out []float64) {
				for _, i := range at {
					out = append(out, v[i])
				}
				return out
			}
			c := calibrate.Numbers(in(p.Mean, order[:n]), in(p.Variance, order[:n]), in(y, order[:n]), 1)
			rest := &Prediction{Targets: p.Targets, Mean: in(p.Mean, order[n:]), Variance: in(p.Variance, order[n:]), Conformal: c}
			hits, _, err := rest.Covered(in(y, order[n:]), level)
			if err != nil {
				t.Fatal(err)
			}
			q, _ := c.Quantile(0, level)
			inside, width = inside+hits, width+q/splits
		}
		rest, all := float64(len(y)-n), float64(n+1)
		want := math.Ceil(level*all) / all
		spread := math.Sqrt(want * (1 - want) * (1/(all+1) + (1-1/(all+1))/rest) / splits)
		share := float64(inside) / (rest * splits)
		t.Logf("| %s | %d | %.3f | %.4f | %.4f ± %.4f | %.2f |", name, n, float64(gaussian)/float64(len(y)), want, share, spread, width)
		if math.Abs(share-want) > 3*spread {
			t.Errorf("%s: coverage %.4f, want %.4f ± %.4f", name, share, want, spread)
		}
	}
}
