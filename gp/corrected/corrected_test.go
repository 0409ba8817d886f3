package corrected

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/ella"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/sfr"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/small"
	"gorgonia.org/tensor"
)

// methods are methods with few points, and the function that restores their posteriors.
var methods = []struct {
	s   gp.Settings
	how gp.Method
}{
	{&laplace.Settings{}, laplace.Method}, {&sfr.Settings{Points: 7}, sfr.Method}, {&ella.Settings{Points: 10, Rank: 5}, ella.Method},
	{&valla.Settings{Inducing: 6, Iterations: 20, BatchSize: 8}, valla.Method},
}

// problems returns the problems of gptest with numbers. With away the targets are moved by it, which the network's
// last bias could do.
func problems(t *testing.T, away float64) (out []gptest.Problem) {
	t.Helper()
	all := small.Must(t, gptest.Problems)
	for _, p := range all {
		if likelihood.IsGaussian(p.Likelihood) && (fixture.Long() || strings.HasPrefix(p.Name, "MLP")) {
			held := moved(*p.Validation, away)
			p.Train, p.Validation = moved(p.Train, away), &held
			out = append(out, p)
		}
	}
	return out
}

func moved(e gp.Examples, away float64) gp.Examples {
	y := graph.Floats(e.Y)
	for i := range y {
		y[i] += away
	}
	return gp.Examples{X: e.X, Y: graph.Convert(dense.Of(y, e.Y.Shape()...), e.Y.Dtype())}
}

// same compares two lists of numbers up to the rounding of the element type.
func same(t *testing.T, what string, got, want []float64, dt tensor.Dtype) {
	t.Helper()
	tol := 1e-10
	if dt == tensor.Float32 {
		tol = 1e-4
	}
	for i, w := range want {
		if math.Abs(got[i]-w) > tol*(1+math.Abs(w)) {
			t.Errorf("%s: number %d is %g, expected %g", what, i, got[i], w)
			return
		}
	}
}

// TestTaken: where the targets lie away from the network, the posterior has the mean of SFR, and the covariance and the
// noise that the method has around this mean, also after it was stored. It keeps the promises of a posterior.
func TestTaken(t *testing.T) {
	for _, p := range problems(t, 2) {
		m := small.Fit(t, &sfr.Settings{OwnMean: true}, p.Problem, gp.Run{Seed: 3}).Posterior
		around, err := shifted(t.Context(), p.Problem, m)
		if err != nil {
			t.Fatal(err)
		}
		mean := small.Predict(t, m, p.Probe).Mean
		for _, c := range methods {
			t.Run(fmt.Sprint(p.Name, ", ", c.how.Name), func(t *testing.T) {
				got, want := small.Fit(t, Of(c.s), p.Problem, gp.Run{Seed: 3}), small.Fit(t, c.s, around, gp.Run{Seed: 3})
				g := small.Predict(t, got.Posterior, p.Probe)
				same(t, "mean", g.Mean, mean, p.Dtype())
				same(t, "covariance", g.Cov, small.Predict(t, want.Posterior, p.Probe).Cov, p.Dtype())
				same(t, "noise", []float64{got.NoiseVariance}, []float64{want.NoiseVariance}, p.Dtype())
				checkStored(t, c.how, p, got.Posterior, g)
				gptest.Check(t, gptest.Case{Posterior: got.Posterior, X: p.Probe, Net: p.Net})
			})
		}
	}
}

// checkStored compares a posterior with what its State restores.
func checkStored(t *testing.T, how gp.Method, p gptest.Problem, q gp.Stored, want gp.Gaussian) {
	t.Helper()
	s, err := q.State()
	if err != nil {
		t.Fatal(err)
	}
	saved, err := gptest.Memory(s)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Restoring(how).Restore(t.Context(), p.Net, p.Likelihood, saved)
	if err != nil {
		t.Fatal(err)
	}
	if again.String() != q.String() || !strings.HasSuffix(q.String(), ", corrected mean") || gp.MeanOf(again) == "" {
		t.Errorf("restored as %q, expected %q", again, q)
	}
	got := small.Predict(t, again, p.Probe)
	same(t, "restored mean", got.Mean, want.Mean, p.Dtype())
	same(t, "restored covariance", got.Cov, want.Cov, p.Dtype())
}

// TestStays: where the targets scatter around the network, the posterior is the method's, also after it was stored.
func TestStays(t *testing.T) {
	stays := 0
	for _, p := range problems(t, 0) {
		for _, c := range methods {
			got, want := small.Fit(t, Of(c.s), p.Problem, gp.Run{Seed: 3}), small.Fit(t, c.s, p.Problem, gp.Run{Seed: 3})
			if gp.MeanOf(got.Posterior) != "" {
				continue
			}
			stays++
			g := small.Predict(t, got.Posterior, p.Probe)
			same(t, "covariance", g.Cov, small.Predict(t, want.Posterior, p.Probe).Cov, p.Dtype())
			if notes := got.Record.Notes; len(notes) == 0 || !strings.HasPrefix(notes[len(notes)-1], "The mean stays the network's output") {
				t.Errorf("notes %q", notes)
			}
		}
	}
	if stays < 8 { // of 16; eight rows say of the others that the mean is better
		t.Errorf("%d means stay", stays)
	}
}

// TestEstimate: the plan is the sum of the plans of the mean and of the method.
func TestEstimate(t *testing.T) {
	p := problems(t, 2)[0]
	for _, c := range methods {
		with, err := Of(c.s).(gp.Estimator).Estimate(t.Context(), p.Problem, gp.Run{})
		if err != nil {
			t.Fatal(err)
		}
		without, err := c.s.(gp.Estimator).Estimate(t.Context(), p.Problem, gp.Run{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := mean().Estimate(t.Context(), p.Problem, gp.Run{})
		if err != nil {
			t.Fatal(err)
		}
		if with.Kept != without.Kept+m.Kept || with.RowBytes != without.RowBytes+m.RowBytes || with.Bytes < without.Bytes || !(with.Seconds > 0) {
			t.Errorf("%s: planned %+v, expected the sum of %+v and %+v", c.how.Name, with, without, m)
		}
		rows := float64(p.Train.N() + p.Validation.N())
		if with.Flops != without.Flops.Plus(m.Flops).Plus(m.RowFlops.Times(rows)) || with.RowFlops != without.RowFlops.Plus(m.RowFlops) || m.Flops == (gp.Flops{}) {
			t.Errorf("%s: operations %v and %v of a row, expected the sums of %v and %v, and %v and %v", c.how.Name, with.Flops, with.RowFlops, without.Flops, m.Flops, without.RowFlops, m.RowFlops)
		}
	}
}

// TestErrors: classes and problems without held-out rows are refused.
func TestErrors(t *testing.T) {
	all := small.Must(t, gptest.Problems)
	alone := problems(t, 2)[0].Problem
	alone.Validation = nil
	for want, p := range map[string]gp.Problem{"numbers with Gaussian noise": all[2].Problem, "needs held-out rows": alone} {
		if _, err := Of(&laplace.Settings{}).Fit(t.Context(), p, gp.Run{}); !errors.Is(err, settings.ErrSetting) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected one that says %q", err, want)
		}
	}
}
