package laplace

import (
	"math"
	"testing"

	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

func TestGradient(t *testing.T) {
	for name, space := range spaces {
		for _, c := range []int{1, 2} {
			p := newProblem(t, 3, tensor.Float64, 20, 8, c).fit(t, options{PriorStd: 0.7, NoiseStd: 0.4, Space: space})
			checkGradient(t, label(name, ", ", c, " outputs"), p)
		}
	}
}

// checkGradient compares with differences.
func checkGradient(t *testing.T, what string, p *posterior) {
	t.Helper()
	const h = 1e-4 // central differences in the logarithms: errors of h² and ε/h
	lml := func(a, b float64) float64 {
		return at(t, p, p.PriorStd()*math.Exp(a), p.NoiseStd()*math.Exp(b)).LogMarginalLikelihood()
	}
	prior, noise := p.LogMarginalLikelihoodGradient()
	want := []float64{(lml(h, 0) - lml(-h, 0)) / (2 * h), (lml(0, h) - lml(0, -h)) / (2 * h)}
	fixture.Close(t, what, append(prior, noise), want, 1e-6)
}

// At what is found the gradient in the free directions is zero, and every step away
// makes the marginal likelihood smaller.
func TestMaximum(t *testing.T) {
	for _, fixed := range []struct{ prior, noise float64 }{{}, {prior: 0.5}, {noise: 0.3}} {
		for name, space := range spaces {
			p := newProblem(t, 4, tensor.Float64, 30, 10, 1).fit(t, options{PriorStd: fixed.prior, NoiseStd: fixed.noise, Space: space})
			if fixed.prior > 0 && p.PriorStd() != fixed.prior || fixed.noise > 0 && p.NoiseStd() != fixed.noise {
				t.Errorf("%v: hyper-parameters became %v", fixed, p.hyper)
			}
			prior, noise := p.LogMarginalLikelihoodGradient()
			for _, step := range []float64{-1, -0.01, 0.01, 1} {
				if fixed.prior == 0 {
					checkLower(t, name, p, p.PriorStd()*math.Exp(step), p.NoiseStd(), prior[0])
				}
				if fixed.noise == 0 {
					checkLower(t, name, p, p.PriorStd(), p.NoiseStd()*math.Exp(step), noise)
				}
			}
		}
	}
}

func checkLower(t *testing.T, name string, p *posterior, priorStd, noiseStd, slope float64) {
	t.Helper()
	if math.Abs(slope) > 1e-6 { // of terms of order N
		t.Errorf("%s: at %v the gradient is %g", name, p.hyper, slope)
	}
	if here, there := p.LogMarginalLikelihood(), at(t, p, priorStd, noiseStd).LogMarginalLikelihood(); !(there < here) {
		t.Errorf("%s: the maximum %.12g at %v is lower than %.12g at σ₀ = %g, σ = %g", name, here, p.hyper, there, priorStd, noiseStd)
	}
}

// γ and log det come from the spectrum of H alone.
func TestSpectrum(t *testing.T) {
	spectrum := []float64{0, 1e-3, 0.5, 2, 40}
	g := gram{n: len(spectrum), a: make([]float64, len(spectrum)*len(spectrum))}
	const s = 0.3
	logDet, gamma := 0.0, 0.0
	for i, v := range spectrum {
		g.a[i*(g.n+1)] = v
		logDet += math.Log1p(v / s)
		gamma += v / (v + s)
	}
	c, err := g.cholesky(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, "log det", []float64{c.logDet()}, []float64{logDet}, 1e-14)
	fixture.Close(t, "γ", []float64{c.effective(t.Context())}, []float64{gamma}, 1e-14)
}

// γ of an order above the width of its blocks is the γ that the explicit inverse gives.
func TestEffectiveInBlocks(t *testing.T) {
	p := newProblem(t, 5, tensor.Float64, 150, 40, 2).fit(t, options{PriorStd: 1, NoiseStd: 0.5, Space: spaceFunctions})
	q := newProblem(t, 5, tensor.Float64, 150, 40, 2).fit(t, options{PriorStd: 1, NoiseStd: 0.5, Space: spaceWeights})
	g := p.structure.(*functionSpace).gram
	if g.n <= 2*128 || g.n%128 == 0 {
		t.Fatalf("order %d does not exercise the blocks", g.n)
	}
	// tr G (G + sI)⁻¹ = Σ_i [(G + sI)⁻¹ G]_ii, each column by a solve of its own.
	c, err := g.cholesky(t.Context(), 0.25, nil)
	if err != nil {
		t.Fatal(err)
	}
	kernel.CopyLower(g.n, g.a, g.n)
	want := 0.0
	for i := range g.n {
		x := append([]float64(nil), g.a[i*g.n:(i+1)*g.n]...)
		solve(c, x)
		want += x[i]
	}
	fixture.Close(t, "function space", []float64{p.EffectiveParameters()}, []float64{want}, 1e-12)
	fixture.Close(t, "weight space", []float64{q.EffectiveParameters()}, []float64{want}, 1e-11)
}

// solve overwrites x by (LLᵀ)⁻¹ x, by plain substitution.
func solve(c cholesky, x []float64) {
	for i := range c.n {
		for j := range i {
			x[i] -= c.l[i*c.n+j] * x[j]
		}
		x[i] /= c.l[i*c.n+i]
	}
	for i := c.n - 1; i >= 0; i-- {
		for j := i + 1; j < c.n; j++ {
			x[i] -= c.l[j*c.n+i] * x[j]
		}
		x[i] /= c.l[i*c.n+i]
	}
}

func TestFindZero(t *testing.T) {
	for name, f := range map[string]func(float64) float64{
		"line":   func(x float64) float64 { return x - 3 },
		"steep":  func(x float64) float64 { return 1e6 * (x - 3) },
		"kinked": func(x float64) float64 { return x - 3 + 50*math.Max(0, x-3) },
		"curved": func(x float64) float64 { return x - 3 + math.Exp(x) - math.Exp(3) },
		"noisy":  func(x float64) float64 { return x - 3 + 1e-6*math.Copysign(1, math.Sin(1e9*x)) },
	} {
		for _, start := range []float64{-5, 3, 8} {
			last, count := 0.0, 0
			err := findZero(func(x float64) (float64, error) {
				last, count = x, count+1
				return f(x), nil
			}, start, 1e-9)
			tol := 2e-9
			if name == "noisy" {
				tol = 2e-6
			}
			if err != nil || math.Abs(last-3) > tol || count > 20 {
				t.Errorf("%s from %g: %.12g after %d evaluations, error %v", name, start, last, count, err)
			}
		}
	}
}
