package assess

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/kernel"
)

// kindOf returns n rows with two inputs, and a target that draw makes of the function.
func kindOf(n int, seed uint64, targets []string, draw func(rng *rand.Rand, f float64) []float64) *data.Set {
	rng := rand.New(rand.NewPCG(seed, 11))
	var x, y []float64
	for range n {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		x, y = append(x, a, b), append(y, draw(rng, math.Sin(a)+b/2)...)
	}
	return &data.Set{Features: []string{"a", "b"}, Targets: targets,
		X: tensor.New(tensor.WithShape(n, 2), tensor.WithBacking(x)), Y: tensor.New(tensor.WithShape(n, len(targets)), tensor.WithBacking(y))}
}

// TestExposures: an audit compares counts with the predictions for their exposures, in intervals as all others do.
func TestExposures(t *testing.T) {
	l, err := likelihood.Named("poisson", "exposure")
	if err != nil {
		t.Fatal(err)
	}
	set := kindOf(120, 1, []string{"y", "e"}, func(rng *rand.Rand, f float64) []float64 {
		e := 1 + float64(rng.IntN(3))
		return []float64{math.Floor(e*math.Exp(f) + 2*rng.Float64()), e}
	})
	m, err := valla.Train(t.Context(), set, valla.TrainOptions{Network: valla.Network{Hidden: []int{4}}, Training: valla.Training{Iterations: 60}, Likelihood: l})
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Predict(t.Context(), set.X, valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	y := set.Y.Float64s()
	r, err := subject{m: m, set: set, is: candidate{p: p, y: y, pits: pits(p, y)}}.rows(0.9)
	if err != nil {
		t.Fatal(err)
	}
	for i, mean := range p.Mean {
		if want := mean * y[2*i+1]; math.Abs(r.Mean[i]/want-1) > 1e-9 || math.Abs(r.Std[i]/math.Sqrt(want)-1) > 1e-9 {
			t.Fatalf("row %d: %g ± %g, expected %g ± %g", i, r.Mean[i], r.Std[i], want, math.Sqrt(want))
		}
	}
	want, _, err := p.Covered(y, 0.9)
	if got := kernel.Sum(r.Inside); err != nil || math.Abs(got-want) > 1e-9 {
		t.Errorf("%g counts inside, expected %g, error %v", got, want, err)
	}
}

// TestKinds: each kind of target has its page, with its scores and their standard errors, and pictures and tables that
// suit it.
func TestKinds(t *testing.T) {
	one := []string{"y"}
	for _, c := range []struct {
		name, setting string
		targets       []string
		draw          func(rng *rand.Rand, f float64) []float64
		figures       int
		want          []string
	}{
		{"poisson", "", one, func(rng *rand.Rand, f float64) []float64 { return []float64{math.Floor(math.Exp(f) + 2*rng.Float64())} },
			5, []string{"deviance", "Are there as many as predicted?", "the form of the distributions"}},
		{"poisson", "exposure", []string{"y", "e"}, func(rng *rand.Rand, f float64) []float64 {
			return []float64{math.Floor(math.Exp(f) + 2*rng.Float64()), 2}
		},
			5, []string{"deviance"}},
		{"bernoulli", "", one, func(rng *rand.Rand, f float64) []float64 {
			return []float64{math.Floor(0.5 + rng.Float64()*math.Tanh(max(f, 0)))}
		},
			2, []string{"AUC", "AP", "except for AUC, AP", "Do the probabilities hold?", "How sure"}},
		{"ordinal", "classes=3", one, func(rng *rand.Rand, f float64) []float64 {
			return []float64{min(2, math.Floor(max(0, f+1+rng.Float64())))}
		},
			2, []string{"RPS", "ACC", "Do the probabilities hold?"}},
		{"censored", "", []string{"lower", "upper"}, func(rng *rand.Rand, f float64) []float64 {
			if f += 0.3 * rng.NormFloat64(); f > 0.5 {
				return []float64{0.5, likelihood.Open}
			}
			return []float64{f, f}
		}, 5, []string{"CRPS", "≥ 0.5", "Are the residuals large"}},
		{"heteroscedastic", "", []string{"y", "h"}, func(rng *rand.Rand, f float64) []float64 {
			h := rng.NormFloat64()
			return []float64{f + 0.2*math.Exp(h)*rng.NormFloat64(), h}
		}, 5, []string{"RMSE", "Sharpness"}},
	} {
		var settings []string
		if c.setting != "" {
			settings = []string{c.setting}
		}
		l, err := likelihood.Named(c.name, settings...)
		if err != nil {
			t.Fatal(err)
		}
		set := kindOf(120, 1, c.targets, c.draw)
		m, err := valla.Train(t.Context(), set, valla.TrainOptions{Network: valla.Network{Hidden: []int{4}}, Training: valla.Training{Iterations: 60}, Likelihood: l})
		if err == nil {
			m, err = m.Fit(t.Context(), set, valla.FitOptions{Settings: &laplace.Settings{Structure: "diag"}})
		}
		if err != nil {
			t.Fatal(err)
		}
		p, html := pageOf(t, m, kindOf(100, 2, c.targets, c.draw), Options{Notes: []string{c.name}})
		if len(p.Parts) != 1 || len(p.Parts[0].Figures) != c.figures || !strings.Contains(p.Scores.Rows[1][1].Text, " ± ") {
			t.Errorf("%s %s: %d figures, scores %+v", c.name, c.setting, len(p.Parts[0].Figures), p.Scores.Rows)
		}
		for _, text := range append(c.want, "Rows with the largest surprises") {
			if !strings.Contains(html, text) {
				t.Errorf("%s %s: no %q on the page", c.name, c.setting, text)
			}
		}
	}
}
