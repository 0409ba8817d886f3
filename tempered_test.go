package valla

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// drawnBy are rows whose classes are drawn with the probabilities that a model gives them.
func drawnBy(t *testing.T, m *Model, n int, seed uint64) *data.Set {
	t.Helper()
	set, r := thirds(n, seed), rand.New(rand.NewPCG(seed, 4))
	p := predict(t, m, set.X)
	for i, y := 0, set.Y.Float64s(); i < n; i++ {
		u, k := r.Float64(), 0
		for k < len(p.Classes)-1 && u > p.Probs[i*len(p.Classes)+k] {
			u -= p.Probs[i*len(p.Classes)+k]
			k++
		}
		y[i] = p.Classes[k]
	}
	return set
}

// TestFitTemperature: where held-out classes are drawn with the temperature 3, or 1/3, of a network, a fit finds it, and its
// predictions are those of the network with the temperature. A calibration takes it further, files and updates keep it, and
// pseudo-rows choose none.
func TestFitTemperature(t *testing.T) {
	for _, want := range []float64{3, 1. / 3} {
		net := newTestClasses(t, tensor.Float64, 8)
		all := layers.Arrays(net.Net)
		for _, p := range all[len(all)-2:] { // of the last layer
			v := p.Value.Float64s()
			kernel.Scale(v, 4, v)
		}
		hot := *net
		hot.Calibration = &Calibration{Temperature: want}
		set, held := drawnBy(t, &hot, 300, 1), drawnBy(t, &hot, 900, 2)
		m := fit(t, net, set, FitOptions{Held: held, Settings: &laplace.Settings{Hyper: "fixed", PriorStd: 1e-3}})
		got := m.Posterior.Temperature
		near(t, "log temperature", math.Log(got), math.Log(want), 0.2)
		if e := m.History[len(m.History)-1]; e.Untouched || e.Facts[len(e.Facts)-1] != (gp.Fact{Name: "temperature", Value: got}) {
			t.Errorf("untouched %v, facts %v", e.Untouched, e.Facts)
		}
		hot.Calibration = &Calibration{Temperature: got}
		slow := predict(t, &hot, held.X)
		near(t, "probability", numbers(predict(t, m, held.X))[0], numbers(slow)[0], 1e-3)

		path := filepath.Join(t.TempDir(), "m.valla")
		if err := m.Save(path); err != nil {
			t.Fatal(err)
		}
		if again := loaded(t, path); again.Posterior.Temperature != got {
			t.Errorf("temperature %g from the file of %g", again.Posterior.Temperature, got)
		}
		more := calibrated(t, m, held, CalibrateTemperature)
		near(t, "temperature of a calibration by the same rows", more.Calibration.Temperature, 1, 0.05)
		if more.Uncalibrated().Posterior.Temperature != got || m.MAP().temperature() != 1 {
			t.Error("the temperature of the fit is not that of the posterior")
		}
		if v := calibrated(t, m, held, CalibrateVector); evaluated(t, v, held) > evaluated(t, more, held)+1e-9 {
			t.Errorf("NLL %g with a vector, %g with a temperature", evaluated(t, v, held), evaluated(t, more, held))
		}
		updated, err := m.Update(t.Context(), drawnBy(t, &hot, 20, 3), gp.Run{})
		if err != nil {
			t.Fatal(err)
		}
		if updated.Posterior.Temperature != got {
			t.Errorf("temperature %g after an update", updated.Posterior.Temperature)
		}
	}
}

// TestNoTemperature: rows that the network may have seen choose no temperature, and neither do pseudo-rows, nor others where
// the options say so. A file with a wrong temperature is refused.
func TestNoTemperature(t *testing.T) {
	net, o := newTestClasses(t, tensor.Float64, 8), FitOptions{Settings: &laplace.Settings{Hyper: "fixed", PriorStd: 1e-3}}
	for _, held := range []*float64{nil, new(0.2)} {
		net.History, o.Validation = []Event{{Action: ActionWeights}}, held
		if m := fit(t, net, thirds(200, 1), o); m.Posterior.Temperature != 0 {
			t.Errorf("temperature %g of a network from elsewhere", m.Posterior.Temperature)
		}
	}
	plain := o
	plain.Untempered, plain.Validation = true, new(0.2)
	if m := fit(t, newTestClasses(t, tensor.Float64, 8), thirds(200, 1), plain); m.Posterior.Temperature != 0 {
		t.Errorf("temperature %g of an untempered fit", m.Posterior.Temperature)
	}
	for _, wrong := range []float64{-1, math.NaN(), math.Inf(1)} {
		m := fit(t, net, thirds(200, 1), o)
		m.Posterior.Temperature = wrong
		oneLine(t, m.Save(filepath.Join(t.TempDir(), "m.valla")), "temperature", "expected a positive number")
	}
	m := fit(t, newTestModel(t, tensor.Float64, 0, 3), wave(40, 1), FitOptions{Settings: &laplace.Settings{Hyper: "fixed", PriorStd: 1}})
	m.Posterior.Temperature = 2
	oneLine(t, m.Save(filepath.Join(t.TempDir(), "m.valla")), "temperature 2", "none but for classes")
}
