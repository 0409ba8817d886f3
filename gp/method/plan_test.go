package method_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/ella"
	"github.com/go-valla/valla/gp/fmgp"
	"github.com/go-valla/valla/gp/gapa"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/gp/mfvi"
	"github.com/go-valla/valla/gp/moe"
	"github.com/go-valla/valla/gp/sampled"
	"github.com/go-valla/valla/gp/sfr"
	"github.com/go-valla/valla/gp/sngp"
	"github.com/go-valla/valla/gp/sum"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// classProblem has n rows of four inputs with so many classes, a fifth of them held out.
func classProblem(t *testing.T, n, classes int) gp.Problem {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	net, err := layers.MLP{Inputs: 4, Hidden: []int{8}, Outputs: classes, Activation: "tanh"}.New(tensor.Float64, rng)
	if err != nil {
		t.Fatal(err)
	}
	some := func(n int) gp.Examples {
		x, y := tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(n, 4)), tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(n, classes))
		for i := range x.Float64s() {
			x.Float64s()[i] = rng.NormFloat64()
		}
		for i := range n {
			y.Float64s()[i*classes+i%classes] = 1
		}
		return gp.Examples{X: x, Y: y}
	}
	held := some(n / 5)
	return gp.Problem{Net: net, Likelihood: likelihood.Softmax{}, Train: some(n), Validation: &held}
}

// TestEveryMethodEstimates: every method of this module counts its time, its memory and its predictions beforehand,
// more classes take more of each, and an estimate changes no settings.
func TestEveryMethodEstimates(t *testing.T) {
	few, many := classProblem(t, 200, 3), classProblem(t, 200, 12)
	for _, m := range method.All() {
		s := m.New()
		if m.Name == "added" {
			continue // of another test
		}
		of, ok := s.(gp.Estimator)
		if !ok {
			t.Errorf("%s has no estimate", m.Name)
			continue
		}
		before := fmt.Sprintf("%+v", s)
		a, err := of.Estimate(t.Context(), few, gp.Run{})
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		b, err := of.Estimate(t.Context(), many, gp.Run{})
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		if !(a.Seconds > 0 && a.Row > 0) || a.Bytes < 1000 || a.RowBytes < 100 || a.Kept > a.Bytes || b.Bytes <= a.Bytes || b.Row <= a.Row || b.RowBytes <= a.RowBytes {
			t.Errorf("%s: %+v with 3 classes, %+v with 12", m.Name, a, b)
		}
		if now := fmt.Sprintf("%+v", s); now != before {
			t.Errorf("%s: the settings %s are %s after an estimate", m.Name, before, now)
		}
	}
}

// TestRefusedBeforeTheMemoryIsTaken: a number that takes more memory than the limit is refused by an error that names
// the limit and the need, before a part of that memory has been taken. The same number is refused by the estimate.
func TestRefusedBeforeTheMemoryIsTaken(t *testing.T) {
	const limit = 16 << 20
	p := classProblem(t, 4000, 3)
	for name, s := range map[string]gp.Settings{
		"valla inducing":      &valla.Settings{Inducing: 3900},
		"ella points":         &ella.Settings{Points: 4000},
		"ella rank":           &ella.Settings{Points: 3000, Rank: 3000},
		"sampled-lla samples": &sampled.Settings{Samples: 10_000_000},
		"moe-lla points":      &moe.Settings{Points: 4000},
		"fmgp inducing":       &fmgp.Settings{Inducing: 3900},
		"sfr points":          &sfr.Settings{Points: 4000},
		"sfr joint":           &sfr.Settings{Points: 4000, Outputs: "joint"},
		"gapa neighbours":     &gapa.Settings{Options: gapa.Options{Neighbours: 4000}},
		"valla+gapa inducing": &sum.Settings{Settings: valla.Settings{Inducing: 3900}},
		"mfvi samples":        &mfvi.Settings{Samples: 1_000_000},
		"sngp features":       &sngp.Settings{Features: 1_000_000_000},
		"sngp joint":          &sngp.Settings{Features: 4096, Covariance: "joint"},
		"sngp per class":      &sngp.Settings{Features: 4096, Covariance: "per-class"},
	} {
		for how, do := range map[string]func() error{
			"a fit":       func() error { _, err := s.Fit(t.Context(), p, gp.Run{Memory: limit}); return err },
			"an estimate": func() error { _, err := s.(gp.Estimator).Estimate(t.Context(), p, gp.Run{Memory: limit}); return err },
		} {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			before := m.TotalAlloc
			err := do()
			runtime.ReadMemStats(&m)
			var refused *graph.MemoryError
			if !errors.As(err, &refused) || refused.Need <= refused.Limit {
				t.Errorf("%s: %s: error %v", name, how, err)
			} else if took := m.TotalAlloc - before; took > 2*limit {
				t.Errorf("%s: %s took %s before the refusal %v", name, how, graph.Bytes(int64(took)), err)
			}
		}
	}
}
