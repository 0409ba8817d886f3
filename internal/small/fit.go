package small

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// Fit fits settings to a problem.
func Fit(t testing.TB, s gp.Settings, p gp.Problem, r gp.Run) *gp.Fitted {
	t.Helper()
	f, err := s.Fit(t.Context(), p, r)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Predict returns the prediction at x [N,…].
func Predict(t testing.TB, p gp.Posterior, x *tensor.Dense) gp.Gaussian {
	t.Helper()
	g, err := gp.Predict(t.Context(), p, x)
	if err != nil {
		t.Fatal(err)
	}
	if g.N() != x.Shape()[0] {
		t.Fatalf("prediction at %v has %d means", x.Shape(), len(g.Mean))
	}
	return g
}

// Moments returns the means [N,C] and the covariances [N,C,C] of the prediction at x [N,…].
func Moments(t testing.TB, p gp.Posterior, x *tensor.Dense) (mean, cov []float64) {
	t.Helper()
	g := Predict(t, p, x)
	return g.Mean, g.Cov
}

// Variants returns the makers of settings that gptest.MethodCase takes. Settings that do not suit a
// problem are nil there.
func Variants[S any, P interface {
	*S
	gp.Settings
}](all map[string]S, suit func(gp.Problem, S) bool) map[string]func(gp.Problem) gp.Settings {
	out := map[string]func(gp.Problem) gp.Settings{}
	for name, s := range all {
		out[name] = func(p gp.Problem) gp.Settings {
			if !suit(p, s) {
				return nil
			}
			c := s
			return P(&c)
		}
	}
	return out
}

// Fact returns the value of the fact with this name in the record of f, NaN where there is none.
func Fact(f *gp.Fitted, name string) float64 {
	i := slices.IndexFunc(f.Record.Facts, func(g gp.Fact) bool { return g.Name == name })
	if i < 0 {
		return math.NaN()
	}
	return f.Record.Facts[i].Value
}

// FoundOnValidation checks, with numbers for targets, that the standard deviations that a fit chooses from a
// grid for σ₀ predict the validation rows best: they are the best of fits to which they are given. Settings
// are made with the grid, or with a prior and a noise.
func FoundOnValidation(t testing.TB, p gp.Problem, settings func(grid []float64, prior, noise float64) gp.Settings) {
	t.Helper()
	grid, run := []float64{0.05, 0.5, 5}, gp.Run{Seed: 3}
	found := Fit(t, settings(grid, 0, 0), p, run)
	best, at := math.Inf(1), gp.Candidate{}
	for _, prior := range grid {
		for _, noise := range gp.LogSpaced(0.075, 1.2, 9) {
			if nll := validationNLL(t, p, Fit(t, settings(nil, prior, noise), p, run)); nll < best {
				best, at = nll, gp.Candidate{Prior: prior, Noise: noise}
			}
		}
	}
	if found.Record.PriorStds[0] != at.Prior || math.Abs(math.Sqrt(found.NoiseVariance)-at.Noise) > 1e-12 {
		t.Errorf("σ₀ %g and σ² %g, want %+v", found.Record.PriorStds, found.NoiseVariance, at)
	}
	if got := Fact(found, "validation NLL"); math.Abs(got-best) > 1e-9 {
		t.Errorf("validation NLL %g, want %g", got, best)
	}
}

// EndOfNoises checks a fit that chooses the noise on the validation rows: targets that the network of p, a regression, explains far worse
// or better than its noise says take the noise to an end of the grid, and a note says so. A noise that is given has no such note.
func EndOfNoises(t testing.TB, p gp.Problem, chosen, given gp.Settings) {
	t.Helper()
	for variance, want := range map[float64]string{1e-6: "is the largest of the grid", 1e6: "is the smallest of the grid"} {
		p.Likelihood = likelihood.NewGaussian(variance, p.Dtype())
		notes := strings.Join(Fit(t, chosen, p, gp.Run{}).Record.Notes, " ")
		for _, want := range []string{"The noise standard deviation", want, "the setting noise-std"} {
			if !strings.Contains(notes, want) {
				t.Errorf("noise variance %g: notes %q, want %q in them", variance, notes, want)
			}
		}
		if notes := strings.Join(Fit(t, given, p, gp.Run{}).Record.Notes, " "); strings.Contains(notes, "of the grid") {
			t.Errorf("a noise that is given: notes %q", notes)
		}
	}
}

// validationNLL returns the NLL of f's predictions of p's validation rows, each output by itself.
func validationNLL(t testing.TB, p gp.Problem, f *gp.Fitted) float64 {
	t.Helper()
	mean, cov := Moments(t, f.Posterior, p.Validation.X)
	c, y, sum := p.Outputs(), graph.Floats(p.Validation.Y), 0.0
	lik := likelihood.NewGaussian(f.NoiseVariance, tensor.Float64)
	for i := range mean {
		sum -= lik.LogPredictive(y[i:i+1], mean[i:i+1], []float64{cov[i*c+i%c]})
	}
	return sum / float64(p.Validation.N())
}
