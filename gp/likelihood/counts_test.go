package likelihood_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"gorgonia.org/tensor"
)

// countModels are Poisson's counts and negative binomial ones.
var countModels = map[string]likelihood.Scalar{
	"poisson": likelihood.Poisson, "size 1": likelihood.NewNegativeBinomial(1), "size 50": likelihood.NewNegativeBinomial(50),
}

// plain hides the type of a distribution, so that only its methods are known.
type plain struct{ likelihood.Distribution }

// TestCRPSOfCounts: the score is the sum over the CDF, also where the count is rare or beyond all that is likely.
func TestCRPSOfCounts(t *testing.T) {
	for name, model := range countModels {
		for _, mean := range []float64{0.05, 3, 60} {
			for _, sd := range []float64{0, 0.01, 0.3} {
				d := likelihood.Each(model).Predict(0, math.Log(mean), sd*sd)
				for _, y := range []float64{0, math.Ceil(mean), math.Ceil(5 * mean)} {
					got, want := likelihood.CRPS(d, y, likelihood.Count), likelihood.CRPS(plain{d}, y, likelihood.Count)
					fixture.Close(t, fmt.Sprintf("%s, mean %g, sd %g, y %g", name, mean, sd, y), []float64{got}, []float64{want}, 1e-9)
				}
			}
		}
	}
	d := likelihood.Each(likelihood.Poisson).Predict(0, 0, 0.1)
	far, farther := likelihood.CRPS(d, 1e6, likelihood.Count), likelihood.CRPS(d, 1e9, likelihood.Count)
	fixture.Close(t, "counts beyond all that is likely", []float64{farther - far}, []float64{1e9 - 1e6}, 1e-9)
}

// TestHugeCounts: a mean whose square is no number of float64 has a variance and a CRPS.
func TestHugeCounts(t *testing.T) {
	d := likelihood.Each(likelihood.Poisson).Predict(0, 400, 0)
	if v := d.Variance(); v != d.Mean() {
		t.Errorf("variance %g, want %g", v, d.Mean())
	}
	if v := likelihood.CRPS(d, 3, likelihood.Count); !(v > 0) {
		t.Errorf("CRPS %g", v)
	}
	if v := likelihood.CRPS(likelihood.Each(likelihood.Poisson).Predict(0, 800, 0), 3, likelihood.Count); !(v > 0) {
		t.Errorf("CRPS %g of a mean beyond all numbers", v)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for name, model := range countModels {
		d := likelihood.Each(model).Predict(0, 720, 0)
		for range 100 {
			if v := d.Draw(rng); !(v > 1e200) {
				t.Errorf("%s: a draw %g of counts beyond all numbers", name, v)
			}
		}
	}
}

// TestFarCounts: the variance of counts far from the training rows is a number wherever it is one in float64, infinite beyond, and
// never NaN; so is its epistemic part. An exported file computes the same.
func TestFarCounts(t *testing.T) {
	poisson, wide := likelihood.Each(likelihood.Poisson), likelihood.Each(likelihood.NewNegativeBinomial(2))
	inf := math.Inf(1)
	for _, c := range []struct {
		l                             likelihood.Likelihood
		mean, q                       float64 // of the latent value
		expected, variance, epistemic float64 // by formulas without a product of 0 and ∞
	}{
		{poisson, 0, 1000, math.Exp(500), inf, inf},
		{poisson, -320, 800, math.Exp(80), inf, inf},
		{poisson, -1000, 800, math.Exp(-600), math.Exp(-400), math.Exp(-400)},
		{poisson, -1400, 710, 0, 0, 0},
		{poisson, 400, 0, math.Exp(400), math.Exp(400), 0},
		{poisson, 800, 0, inf, inf, 0},
		{poisson, 800, 1e-3, inf, inf, inf},
		{wide, -1000, 800, math.Exp(-600), 1.5 * math.Exp(-400), math.Exp(-400)},
		{wide, -1400, 710, 0, 0, 0},
		{wide, 300, 0, math.Exp(300), 0.5 * math.Exp(600), 0},
		{wide, 800, 0, inf, inf, 0},
	} {
		d := c.l.Predict(0, c.mean, c.q)
		got := append([]float64{d.Mean(), d.Variance(), likelihood.Epistemic(c.l, c.mean, c.q)}, writtenMoments(t, c.l, c.mean, c.q)...)
		for i, want := range []float64{c.expected, c.variance, c.epistemic, c.expected, c.variance, min(c.epistemic, math.MaxFloat64)} {
			if got[i] != want && !(math.Abs(got[i]-want) <= 1e-11*want) {
				t.Errorf("%v, N(%g, %g): the %s is %g, want %g", c.l, c.mean, c.q, []string{"mean", "variance", "epistemic variance"}[i%3], got[i], want)
			}
		}
		for _, p := range []float64{0.025, 0.5, 0.975} {
			if v := d.Quantile(p); !(v >= 0) || math.IsInf(v, 1) {
				t.Errorf("%v, N(%g, %g): the quantile %g is %g", c.l, c.mean, c.q, p, v)
			}
		}
	}
	for name, model := range countModels {
		if v := model.Given().Variance(800); !math.IsInf(v, 1) {
			t.Errorf("%s: the variance given f = 800 is %g, want +Inf", name, v)
		}
	}
}

// writtenMoments returns the mean, the variance and the epistemic variance that an exported file computes.
func writtenMoments(t *testing.T, l likelihood.Likelihood, mean, q float64) (out []float64) {
	t.Helper()
	b := graph.NewBuilder(tensor.Float64)
	leaf := func(name string, v float64) *graph.Node {
		return b.Param(graph.NewParam(name, []float64{v}, tensor.Float64, 1, 1))
	}
	w, ok := likelihood.Write(l, b, leaf("mean", mean), leaf("variance", q))
	if !ok {
		t.Fatalf("%v cannot be written", l)
	}
	nodes := []*graph.Node{w.Mean, w.Variance, w.Epistemic}
	p, err := graph.Compile(b, nodes, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		out = append(out, graph.Floats(p.Value(n))[0])
	}
	return out
}

// TestLargeCounts: scores and quantiles of counts in the thousands agree with Gaussian counts, and take milliseconds.
func TestLargeCounts(t *testing.T) {
	start := time.Now()
	for _, model := range []likelihood.Scalar{likelihood.Poisson, likelihood.NewNegativeBinomial(1000), likelihood.NewNegativeBinomial(300)} {
		d := likelihood.Each(model).Predict(0, math.Log(4000), 0.03*0.03)
		normal := likelihood.Normal{Mu: d.Mean(), Sigma: math.Sqrt(d.Variance())}
		got := []float64{likelihood.CRPS(d, 4200, likelihood.Count), d.Quantile(0.9)}
		want := []float64{likelihood.CRPS(normal, 4200, likelihood.Number), normal.Quantile(0.9)}
		fixture.Close(t, fmt.Sprintf("%v, relative", model), []float64{got[0] / want[0], got[1] / want[1]}, []float64{1, 1}, 0.03)
	}
	if used := time.Since(start); used > 2*time.Second {
		t.Errorf("%v", used)
	}
}

// TestRareHugeCounts: where almost all counts are 0 and the others are huge, the score is the sum over the CDF, which changes
// slowly.
func TestRareHugeCounts(t *testing.T) {
	for _, size := range []float64{0.01, 0.02} {
		d := likelihood.Each(likelihood.NewNegativeBinomial(size)).Predict(0, 11, 0)
		for _, y := range []float64{0, 1e5} {
			want := 0.0
			for k, step := 0.0, 1.0; k < y || d.CDF(k) < 1-1e-7; k += step {
				step = max(1, math.Floor(k/2000))
				if k < y {
					step = min(step, y-k)
				}
				r := d.CDF(k + math.Floor(step/2))
				if k >= y {
					r = 1 - r
				}
				want += step * r * r
			}
			got := likelihood.CRPS(d, y, likelihood.Count)
			fixture.Close(t, fmt.Sprintf("size %g, y %g, relative", size, y), []float64{got / want}, []float64{1}, 0.01)
		}
	}
}
