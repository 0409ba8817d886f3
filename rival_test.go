package valla

import (
	"math"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/task"
)

// outlying returns the set of wave with every twentieth target far off.
func outlying(n int, seed uint64) *data.Set {
	set := wave(n, seed)
	for i := range set.Y.Float64s() {
		if i%20 == 0 {
			set.Y.Float64s()[i] += float64(10 * (i%40 - 10))
		}
	}
	return set
}

// TestRivals: a verdict compares with the best of the network alone and its corrections by the held-out rows, which Calibrate
// makes, too. The file has it.
func TestRivals(t *testing.T) {
	numbers, set := trained(t)
	sure := *numbers
	sure.Task.Outputs = func() task.Outputs { r := *numbers.Task.Outputs.(*task.Regression); r.NoiseVariance /= 100; return &r }()
	for name, c := range map[string]struct {
		m                *Model
		set, held, judge *data.Set
		how              []CalibrateOptions
		with             string // what the best rival must have; "" is not checked
	}{
		"numbers":      {numbers, set, wave(60, 3), wave(80, 2), []CalibrateOptions{{}, {Method: CalibrateLaw, Law: law.StudentT}}, ""},
		"far too sure": {&sure, set, wave(60, 3), wave(80, 2), []CalibrateOptions{{}, {Method: CalibrateLaw, Law: law.StudentT}}, "the law student-t"},
		"heavy tails":  {numbers, set, outlying(300, 3), outlying(300, 2), []CalibrateOptions{{}, {Method: CalibrateLaw, Law: law.StudentT}}, "the law student-t"},
		"classes":      {newTestClasses(t, tensor.Float64, 3), thirds(60, 1), thirds(60, 3), thirds(80, 2), []CalibrateOptions{{}}, "one temperature"},
	} {
		f := fit(t, c.m, c.set, FitOptions{Settings: &laplace.Settings{Structure: "diag", Hyper: "fixed", PriorStd: 1}, Held: c.held, Judge: c.judge, Law: law.StudentT})
		v, want := f.History[len(f.History)-1].Verdict, scores(t, c.m, c.judge).NLL()
		for _, how := range c.how {
			other, err := c.m.Calibrate(t.Context(), c.held, how)
			if err != nil {
				t.Fatal(err)
			}
			want = min(want, scores(t, other, c.judge).NLL())
		}
		near(t, name+": NLL of the rival", v.MAPNLL, want, 2e-3)
		near(t, name+": NLL of the rival in the file", scores(t, loaded(t, written(t, f)).Alone(), c.judge).NLL(), v.MAPNLL, 1e-12)
		if c.with != "" && v.MAPWith != c.with || !strings.Contains(v.String(), "the network alone with "+v.MAPWith+": NLL ") {
			t.Errorf("%s: %v", name, v)
		}
	}
}

// TestCalibrationAtTheEdge: where no temperature is best it stays 1, with a sentence. A verdict then compares with the
// network as it is.
func TestCalibrationAtTheEdge(t *testing.T) {
	m := newTestClasses(t, tensor.Float64, 3)
	set := thirds(30, 1)
	p := predict(t, m, set.X)
	for i, k := range p.Best() {
		set.Y.Float64s()[i] = p.Classes[k]
	}
	c := calibrated(t, m, set, CalibrateTemperature)
	if e := c.History[len(c.History)-1]; c.Calibration.Temperature != 1 || !strings.Contains(strings.Join(e.Notes, " "), "The temperature stays 1: ") {
		t.Errorf("%+v, notes %q", c.Calibration, e.Notes)
	}
	v := verdict(t, m, thirds(60, 1), FitOptions{Settings: &laplace.Settings{Structure: "diag", Hyper: "fixed", PriorStd: 1}, Held: set, Judge: thirds(30, 2)})
	if v.MAPWith != "" || math.IsNaN(v.MAPNLL) {
		t.Errorf("verdict %+v", v)
	}
}
