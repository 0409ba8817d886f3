package laplace

import (
	"math"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/small"
	"gorgonia.org/tensor"
)

// overfitted is a problem of many more weights than targets, which the network meets but
// for residuals of a given size.
func overfitted(t *testing.T, residual float64) problem {
	t.Helper()
	p := newProblem(t, 2, tensor.Float64, 30, 60, 1)
	g := small.Predict(t, p.fit(t, options{PriorStd: 1, NoiseStd: 1}), p.x)
	for i, y := range p.y.Float64s() {
		p.y.Float64s()[i] = g.Mean[i] + residual*y
	}
	return p
}

// TestApproximationsDetermineTooMuch: N targets determine fewer than N weights with all of
// H, whatever the prior. With KFAC and the diagonal, which spread the same trace over more
// directions, they seem to determine more than N, and the best noise lies above the noise
// of the residuals, where γ has come down to N.
func TestApproximationsDetermineTooMuch(t *testing.T) {
	const n, residual = 30, 1e-2
	p := overfitted(t, residual)
	for _, c := range []struct {
		structure structureKind
		above     bool
	}{{kindFull, false}, {kindKFAC, true}, {kindDiagonal, true}} {
		q := p.fit(t, options{Structure: c.structure, PriorStd: 1, NoiseStd: residual / 100})
		if gamma := q.EffectiveParameters(); (gamma > n) != c.above {
			t.Errorf("%v: %d targets determine %g weights", c.structure, n, gamma)
		}
		best := at(t, q, 0, 0)
		if gamma := best.EffectiveParameters(); gamma >= n {
			t.Errorf("%v: at the maximum %d targets determine %g weights", c.structure, n, gamma)
		}
		if c.above && best.NoiseStd() < 5*residual {
			t.Errorf("%v: noise %g, expected one far above the residual %g", c.structure, best.NoiseStd(), residual)
		}
	}
}

// TestMaximumNextToTheLastDigit: where γ comes so near to N that N − γ has no digits, the
// hyper-parameters still belong to one maximum.
func TestMaximumNextToTheLastDigit(t *testing.T) {
	const n = 30
	for _, residual := range []float64{1e-3, 1e-5, 1e-6} {
		q := overfitted(t, residual).fit(t, options{Structure: kindKFAC})
		if gamma := q.EffectiveParameters(); math.Abs(gamma-n) > 1e-3*n || q.NoiseStd() < residual {
			t.Errorf("residual %g: %d targets determine %g weights with the noise %g", residual, n, gamma, q.NoiseStd())
		}
	}
}

// TestNoteOnSaturation: this is said, with what to do.
func TestNoteOnSaturation(t *testing.T) {
	p := overfitted(t, 1e-2).posed(gaussianNoise)
	for _, c := range []struct {
		s    Settings
		note bool
	}{
		{Settings{Structure: "kfac", Hyper: "marglik"}, true}, {Settings{Structure: "diag", Hyper: "marglik"}, true},
		{Settings{Hyper: "marglik"}, false}, {Settings{Structure: "kfac", Hyper: "marglik", NoiseStd: 0.3}, false},
		{Settings{Structure: "kfac", Hyper: "grid"}, false},
	} {
		notes := strings.Join(fitSettings(t, &c.s, p, gp.Run{}).Record.Notes, "\n")
		if has := strings.Contains(notes, "the marginal likelihood takes the 22 targets to determine"); has != c.note || has && !strings.Contains(notes, "try hyper=grid") {
			t.Errorf("%+v: notes %q", c.s, notes)
		}
	}
}

// TestGridOfApproximations: by default a grid on the validation rows, where there are some, chooses
// the noise of KFAC and of the diagonal: near the residual. The marginal likelihood is kept where
// the user asks for it, or where nothing else can do what other settings ask for.
func TestGridOfApproximations(t *testing.T) {
	const residual = 1e-2
	p := overfitted(t, residual).posed(likelihood.NewGaussian(residual*residual, tensor.Float64))
	alone := p
	alone.Validation = nil
	for _, c := range []struct {
		s    Settings
		p    gp.Problem
		grid bool
	}{
		{Settings{Structure: "kfac"}, p, true}, {Settings{Structure: "diag"}, p, true}, {Settings{Structure: "kfac"}, alone, false},
		{Settings{}, p, false}, {Settings{Structure: "lowrank"}, p, false},
		{Settings{Structure: "kfac", Hyper: "marglik"}, p, false}, {Settings{Structure: "kfac", Priors: "per-layer"}, p, false},
	} {
		f := fitSettings(t, &c.s, c.p, gp.Run{})
		if grid := f.Record.Settings["hyper"] == "grid"; grid != c.grid {
			t.Errorf("%+v: settings %v", c.s, f.Record.Settings)
		}
		if noise := math.Sqrt(f.NoiseVariance); c.grid && (noise < residual/4 || noise > 2*residual) {
			t.Errorf("%+v: noise %g, the residual is %g", c.s, noise, residual)
		}
	}
}
