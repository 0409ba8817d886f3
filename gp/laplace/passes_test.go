package laplace

import (
	"maps"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"gorgonia.org/tensor"
)

// TestPassesAreFit: the posterior of a sample, made anew from sums over parts of all examples, is
// the posterior of a fit to all examples, in predictions and in the marginal likelihood, whether
// the sample's posterior came from a file or not.
func TestPassesAreFit(t *testing.T) {
	const n, first = 26, 9
	for dt, tol := range map[tensor.Dtype]float64{tensor.Float64: 1e-9, tensor.Float32: 1e-4} {
		everySpace([]int{1, 3}, func(what string, o options, c int) {
			if o.Structure == kindLowRank {
				return
			}
			what = label(dt, ", ", what)
			p := problemFor(t, o, 81, dt, n, 4, c)
			p.x, p.y = graph.Convert(graph.Convert(p.x, dt), tensor.Float64), graph.Convert(graph.Convert(p.y, dt), tensor.Float64)
			whole, start := p.fit(t, o), problem{net: p.net}
			old, all := p.rowsFrom(o, tensor.Float64, 0, first), p.rowsFrom(o, dt, 0, n)
			start.x, start.y = old.Train.X, old.Train.Y
			q := start.fit(t, o)
			mean, cov := small.Moments(t, whole, p.probe)
			_, wide := small.Moments(t, q, p.probe)
			back, err := restore(t, p, store(t, q))
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			for _, from := range []*posterior{q, back} {
				f, err := gptest.Passes(t.Context(), from, o.likelihood(), all.Train, 7, nil)
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				u := f.Posterior.(*posterior)
				m, v := small.Moments(t, u, p.probe)
				fixture.Close(t, what+": mean", m, mean, tol)
				fixture.Close(t, what+": covariance", v, cov, tol)
				fixture.Close(t, what+": evidence", []float64{u.LogMarginalLikelihood()}, []float64{whole.LogMarginalLikelihood()}, tol)
				if u.examples != n || f.NoiseVariance != u.NoiseStd()*u.NoiseStd() {
					t.Errorf("%s: %d examples and the noise variance %g, want %d and %g", what, u.examples, f.NoiseVariance, n, u.NoiseStd()*u.NoiseStd())
				}
			}
			if fixture.RelErr(wide, cov) < 0.01 {
				t.Errorf("%s: the other examples change the covariance by %g: the test shows nothing", what, fixture.RelErr(wide, cov))
			}
		})
	}
}

// TestPassesSearch: examples held out choose the standard deviations as they do in a fit.
func TestPassesSearch(t *testing.T) {
	o := options{Structure: kindKFAC, PriorStd: 1, NoiseStd: 0.5}
	p := problemFor(t, o, 82, tensor.Float64, 30, 4, 1)
	all, held := p.rowsFrom(o, tensor.Float64, 0, 20), p.rowsFrom(o, tensor.Float64, 20, 30).Train
	part := problem{net: p.net, x: all.Train.X, y: all.Train.Y}
	q := part.fit(t, o)
	want, err := q.gridSearch(t.Context(), held, gridOf(gp.Problem{Likelihood: likelihood.NewGaussian(0.25, tensor.Float64), Validation: &held}, 0))
	if err != nil {
		t.Fatal(err)
	}
	f, err := gptest.Passes(t.Context(), q, o.likelihood(), all.Train, 6, &held)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Posterior.(*posterior); got.PriorStd() != want.PriorStd() || got.NoiseStd() != want.NoiseStd() || f.Record.ValidationRows != 10 {
		t.Errorf("σ₀ %g and σ %g by %d rows, want %g and %g", got.PriorStd(), got.NoiseStd(), f.Record.ValidationRows, want.PriorStd(), want.NoiseStd())
	}
	for _, name := range []string{"prior-std", "noise-std"} {
		if v, gone := f.Record.Settings[name]; !gone || v != nil {
			t.Errorf("%s %v in the record, which the grid has replaced", name, v)
		}
	}
	q.subset = true
	if f, err = gptest.Passes(t.Context(), q, o.likelihood(), all.Train, 6, &held); err != nil {
		t.Fatal(err)
	}
	if want := map[string]any{"points": nil, "prior-std": nil}; !maps.Equal(f.Record.Settings, want) || f.Record.Untouched {
		t.Errorf("GP-subset: settings %v and untouched %v, want %v", f.Record.Settings, f.Record.Untouched, want)
	}
}

func TestPassesThatAreRefused(t *testing.T) {
	o := options{Structure: kindLowRank, Rank: 3, PriorStd: 1, NoiseStd: 0.5}
	p := problemFor(t, o, 83, tensor.Float64, 12, 4, 1)
	if _, err := p.fit(t, o).Sums(o.likelihood(), gp.Run{}); err == nil || !strings.Contains(err.Error(), "no sum over examples") {
		t.Errorf("error %v", err)
	}
}
