package valla

import (
	"errors"
	"math"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/small"
	"gorgonia.org/tensor"
)

// TestBeside: a variance that another posterior adds is to the objective what as much noise
// is.
func TestBeside(t *testing.T) {
	all := small.Must(t, gptest.Problems)
	p := all[0]
	const noise, more = 0.04, 0.05
	rows := func(e gp.Examples) *tensor.Dense {
		v := make([]float64, e.Y.Shape().TotalSize())
		for i := range v {
			v[i] = more
		}
		return graph.Convert(tensor.New(tensor.WithShape(e.Y.Shape()...), tensor.WithBacking(v)), p.Dtype())
	}
	predict := func(s Settings, b others) []float64 {
		f, err := s.FitBeside(t.Context(), p.Problem, gp.Run{Seed: 1}, b.train, b.held)
		if err != nil {
			t.Fatal(err)
		}
		return small.Predict(t, f.Posterior, p.Probe).Cov
	}
	s := Settings{Inducing: 6, Iterations: 40, ValidateEvery: 10, BatchSize: p.Train.N(), FixNoise: true, NoiseStd: math.Sqrt(noise)}
	alone := predict(s, others{})
	got := predict(s, others{rows(p.Train), rows(*p.Validation)})
	s.NoiseStd = math.Sqrt(noise + more)
	fixture.Close(t, "covariance", got, predict(s, others{}), 1e-8)
	if fixture.RelErr(got, alone) < 1e-3 {
		t.Error("the variance changes nothing: the test shows nothing")
	}
	s.Optimizer = optimizerAdam
	if _, err := s.FitBeside(t.Context(), p.Problem, gp.Run{}, rows(p.Train), nil); !errors.Is(err, settings.ErrSetting) {
		t.Errorf("error %v", err)
	}
}
