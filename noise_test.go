package valla

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
)

// unlike returns twins with targets in units that differ by a factor of ten million.
func unlike(n int, seed uint64) *data.Set {
	set := twins(n, seed)
	y := set.Y.Float64s()
	for i := 1; i < len(y); i += 2 {
		y[i] *= 1e-7
	}
	return set
}

// inUnits returns a network that was trained on a set as a network from elsewhere, which works in the units of the
// targets.
func inUnits(t *testing.T, set *data.Set) *Model {
	t.Helper()
	m, err := Train(t.Context(), set, quickTrain())
	if err != nil {
		t.Fatal(err)
	}
	r, in := m.Task.Outputs.(*task.Regression), m.Task.Inputs
	last := layers.LastLayer(m.Net)
	w, b := last[0].Value.Float64s(), last[1].Value.Float64s()
	for i := range w {
		w[i] *= r.Std[i%2]
	}
	for i := range b {
		b[i] = b[i]*r.Std[i] + r.Mean[i]
	}
	path := filepath.Join(t.TempDir(), "units.npz")
	if err := layers.Save(path, m.Net); err != nil {
		t.Fatal(err)
	}
	raw, err := FromWeights(t.Context(), path, set, WeightOptions{Network: Network{Mean: in.Mean, Std: in.Std}})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// quick are values of settings with which fits of every method are quick.
var quick = map[string]string{"iterations": "40", "inducing": "12", "features": "60", "experts": "2", "points": "30"}

func quickSettings(t *testing.T, how gp.Method) gp.Settings {
	t.Helper()
	s := how.New()
	for _, f := range settings.Of(s) {
		if v, ok := quick[f.Name]; ok {
			if err := f.Set(v); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// A network with two targets in different units has a noise of its own for each of them, with every method.
func TestTargetsInDifferentUnits(t *testing.T) {
	set, fresh := unlike(100, 1), unlike(200, 2)
	m := inUnits(t, set)
	twoNoises(t, m, fresh)
	for _, how := range method.All() {
		if slices.Contains([]string{"own", "toy", "blind"}, how.Name) {
			continue // methods that tests have registered
		}
		t.Run(how.Name, func(t *testing.T) {
			twoNoises(t, loaded(t, written(t, fit(t, m, set, FitOptions{Settings: quickSettings(t, how), Law: "gaussian"}))), fresh)
		})
	}
}

// twoNoises checks that the standard deviations of each target suit the errors of the target.
func twoNoises(t *testing.T, m *Model, fresh *data.Set) {
	t.Helper()
	p, y := predict(t, m, fresh.X), fresh.Y.Float64s()
	for k := range 2 {
		sum := 0.0
		for i := k; i < len(y); i += 2 {
			z := (y[i] - p.Mean[i]) / math.Sqrt(p.Variance[i])
			sum += z * z
		}
		if z := math.Sqrt(sum / float64(fresh.N())); !(z > 0.5 && z < 2) {
			t.Errorf("%v: the errors of target %d are %.3g times the standard deviation", m, k, z)
		}
	}
}

// Learned parameters of an observation model keep a noise for each target.
func TestNoisesOfStudentT(t *testing.T) {
	set := unlike(200, 1)
	o, err := quickTrain(), error(nil)
	if o.Likelihood, err = likelihood.Named("student-t"); err != nil {
		t.Fatal(err)
	}
	m, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	r := m.Task.Outputs.(*task.Regression)
	if len(r.Noise) != 2 || r.NoiseVariance != 1 || r.Noise[0] == r.Noise[1] {
		t.Errorf("noise %v with the variance %g, expected a noise for each target", r.Noise, r.NoiseVariance)
	}
	got := loaded(t, written(t, m))
	if a, b := numbers(predict(t, m, set.X)), numbers(predict(t, got, set.X)); !close(a, b, 0) {
		t.Error("the loaded model predicts otherwise")
	}
}

// One target keeps the variance of its noise in the units of the network.
func TestNoiseScalesAreChecked(t *testing.T) {
	for _, noise := range [][]float64{{1}, {1, 0}, {1, math.NaN()}, {1, 2, 3}} {
		r := &task.Regression{Names: []string{"y", "z"}, NoiseVariance: 1, Noise: noise}
		m := newTestModel(t, tensor.Float64, 0, 3)
		m.Task.Outputs = r
		if err := m.Task.Check(); err == nil {
			t.Errorf("no error for the scales %v", noise)
		}
	}
}
