package compare

import (
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/small"
)

// quickTrain takes a third of a second.
func quickTrain() valla.TrainOptions {
	return valla.TrainOptions{Network: valla.Network{Hidden: []int{10}}, Training: valla.Training{Iterations: 600, BatchSize: 50}}
}

// trained returns the network of quickTrain on 200 rows of wave.
func trained(t testing.TB) (*valla.Model, *data.Set) {
	t.Helper()
	set := small.Wave(200, 1)
	m, err := valla.Train(t.Context(), set, quickTrain())
	if err != nil {
		t.Fatal(err)
	}
	return m, set
}

func fit(t testing.TB, m *valla.Model, set *data.Set, o valla.FitOptions) *valla.Model {
	t.Helper()
	f, err := m.Fit(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func calibrated(t testing.TB, m *valla.Model, set *data.Set, how string) *valla.Model {
	t.Helper()
	c, err := m.Calibrate(t.Context(), set, valla.CalibrateOptions{Method: how})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
