package likelihood_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"gorgonia.org/tensor"
)

// TestLimits: models equal simpler models in their limits, in data terms and in predictive distributions.
func TestLimits(t *testing.T) {
	gaussian := likelihood.NewGaussian(0.49, tensor.Float64)
	numbers := fixtureModel{name: "numbers", y: [][]float64{{0.3}, {-2}, {5}}, m: []float64{0, 0.5, 0.2}, q: []float64{0.3, 1.2, 0.01}}
	counts := fixtureModel{name: "counts", y: [][]float64{{0}, {3}, {9}}, m: numbers.m, q: numbers.q}
	_, simple := example(t, "poisson", nil)
	for _, c := range []struct {
		name   string
		model  likelihood.Scalar
		simple likelihood.Likelihood
		rows   fixtureModel
		width  int
		tol    float64
	}{
		{"student-t", likelihood.NewStudentT(1e8, 0.7, true, tensor.Float64), gaussian, numbers, 1, 1e-5},
		{"mixture", likelihood.NewMixture([]float64{1}, []float64{0.4}, []float64{0.7}), gaussian, numbers, 1, 1e-10},
		{"mixture of equal parts", likelihood.NewMixture([]float64{0.2, 0.8}, []float64{1, 1}, []float64{0.7, 0.7}), gaussian, numbers, 1, 1e-10},
		{"censored", likelihood.NewCensored(0.7), gaussian, numbers, 2, 1e-10},
		{"negative-binomial", likelihood.NewNegativeBinomial(1e9), simple, counts, 1, 1e-6},
	} {
		for _, alpha := range []float64{0, 0.5, 1} {
			wide := c.rows
			wide.name, wide.model = c.name, c.model
			if c.width == 2 {
				wide.y = [][]float64{}
				for _, y := range c.rows.y {
					wide.y = append(wide.y, []float64{y[0], y[0]})
				}
			}
			got := wide.objective(t, tensor.Float64, alpha)
			want := c.rows.terms(t, c.simple, tensor.Float64, alpha)
			for k := range got {
				fixture.Close(t, fmt.Sprintf("%s, α = %g, [%d]", c.name, alpha, k), got[k], want[k], c.tol)
			}
		}
		for i, m := range c.rows.m {
			a, b := likelihood.Each(c.model).Predict(0, m, c.rows.q[i]), c.simple.Predict(0, m, c.rows.q[i])
			y := c.rows.y[i][0]
			got := []float64{a.Mean(), a.Variance(), a.CDF(y), a.Quantile(0.9), a.LogDensity(y)}
			want := []float64{b.Mean(), b.Variance(), b.CDF(y), b.Quantile(0.9), b.LogDensity(y)}
			fixture.Close(t, c.name+" predictive", got, want, c.tol)
		}
	}
}

// TestNarrow: a count of a million says much more about f than N(m, q), and data terms still are the integral,
// with its slopes.
func TestNarrow(t *testing.T) {
	_, l := example(t, "poisson", nil)
	f := fixtureModel{name: "narrow", y: [][]float64{{1e6}, {1000}, {0}, {50}},
		m: []float64{12, 9, 8, -6}, q: []float64{4, 2, 5, 3}}
	got := f.terms(t, l, tensor.Float64, 1)
	for i, y := range f.y {
		at := func(m, q float64) float64 { return fineIntegral(l, y, m, q) }
		const h = 1e-4
		m, q := f.m[i], f.q[i]
		want := []float64{at(m, q), (at(m+h, q) - at(m-h, q)) / (2 * h), (at(m, q+h) - at(m, q-h)) / (2 * h)}
		fixture.Close(t, fmt.Sprint("count ", y), []float64{got[0][i], got[1][i], got[2][i]}, want, 1e-6)
	}
}

// fineIntegral is log ∫ p(y | f) N(f; m, q) df by the trapezoid rule with steps of a thousandth of the shortest
// scale.
func fineIntegral(l likelihood.Likelihood, y []float64, m, q float64) float64 {
	var logs []float64
	h := 1e-4
	for u := -12.0; u < 12; u += h {
		logs = append(logs, math.Log(h)-0.5*u*u-0.5*math.Log(2*math.Pi)+l.LogDensity(y, []float64{m + math.Sqrt(q)*u}))
	}
	return likelihood.LogSumExp(logs)
}

// TestFarTail: residuals of 50 and 1000 scales have the probabilities of the tail of Student's t, and quantiles find
// them again.
func TestFarTail(t *testing.T) {
	for _, nu := range []float64{1, 2.5, 4, 30} {
		l := likelihood.Each(likelihood.NewStudentT(nu, 0.5, true, tensor.Float64))
		d, given := l.Predict(0, 0, 1e-8), likelihood.NewStudentT(nu, 0.5, true, tensor.Float64).Given()
		for _, r := range []float64{1, 25, 500} {
			fixture.Close(t, fmt.Sprintf("ν = %g: tail at %g", nu, r), []float64{d.CDF(-r)}, []float64{given.CDF(-r, 0)}, 1e-7)
			if p := d.CDF(-r); p > 1e-12 {
				fixture.Close(t, fmt.Sprintf("ν = %g: quantile at %g", nu, r), []float64{d.Quantile(p)}, []float64{-r}, 1e-8)
			}
			fixture.Close(t, fmt.Sprintf("ν = %g: log density at %g", nu, r), []float64{d.LogDensity(r)}, []float64{given.LogDensity([]float64{r}, 0)}, 1e-7)
		}
	}
}

// TestSurvival: with the probability below a number, the probability above it adds up to 1, and it keeps its digits where
// the number is far above all targets.
func TestSurvival(t *testing.T) {
	mixture, mirrored := likelihood.NewMixture([]float64{0.3, 0.7}, []float64{-0.7, 0.3}, []float64{0.5, 0.8}),
		likelihood.NewMixture([]float64{0.7, 0.3}, []float64{-0.3, 0.7}, []float64{0.8, 0.5})
	student := likelihood.NewStudentT(30, 0.5, true, tensor.Float64)
	for _, c := range []struct {
		name        string
		d, mirrored likelihood.Distribution // of Y and of −Y
	}{
		{"gaussian", likelihood.Normal{Mu: 0.2, Sigma: 0.6}, likelihood.Normal{Mu: -0.2, Sigma: 0.6}},
		{"mixture", likelihood.Each(mixture).Predict(0, 0.2, 0.1), likelihood.Each(mirrored).Predict(0, -0.2, 0.1)},
		{"student-t", likelihood.Each(student).Predict(0, 0.2, 0.1), likelihood.Each(student).Predict(0, -0.2, 0.1)},
	} {
		for _, y := range []float64{-3, 0.1, 1.5, 20} {
			p := likelihood.Survival(c.d, y)
			fixture.Close(t, fmt.Sprint(c.name, ": sum at ", y), []float64{p + c.d.CDF(y)}, []float64{1}, 1e-13)
			if below := c.mirrored.CDF(-y); !(p > 0) || math.Abs(math.Log(p/below)) > 1e-9 {
				t.Errorf("%s: P(Y > %g) is %g, and P(−Y < −%g) is %g", c.name, y, p, y, below)
			}
		}
	}
}

// terms are data terms of rows and their slopes in mean and variance.
func (f fixtureModel) terms(t *testing.T, l likelihood.Likelihood, dt tensor.Dtype, alpha float64) [][]float64 {
	b, n := graph.NewBuilder(dt), len(f.m)
	y, mean, cov := f.targets(b), b.Const("mean", f.m, n, 1), b.Const("cov", f.q, n, 1, 1)
	term := l.Copy(dt).DataTerm(b, y, mean, b.Diag(cov), alpha)
	return f.run(t, b, append([]*graph.Node{term}, graph.Grad(b, b.Sum(term), mean, cov)...))
}

// drawn are n targets of a model with the outputs f.
func drawn(l likelihood.Likelihood, f []float64, target func(y float64) []float64) (y []float64) {
	rng := rand.New(rand.NewPCG(8, uint64(len(f))))
	for _, v := range f {
		y = append(y, target(l.Predict(0, v, 0).Draw(rng))...)
	}
	return y
}

// TestFit: the parameters that made many targets are found, and the fit has a larger density than the truth.
func TestFit(t *testing.T) {
	for _, c := range conformCases(t) {
		if len(c.Likelihood.Params()) == 0 || likelihood.IsClass(c.Likelihood) {
			continue
		}
		target := c.Target
		if target == nil {
			target = func(y float64) []float64 { return []float64{y} }
		}
		rng := rand.New(rand.NewPCG(5, 6))
		f := fixture.Normal(rng, 9000)
		y := drawn(c.Likelihood, f, target)
		start, err := c.Settings.Start(1, y)
		if err != nil {
			t.Fatal(c.Name, err)
		}
		got, err := likelihood.Fit(start, y, f)
		if err != nil {
			t.Fatal(c.Name, err)
		}
		a, b := got.LogDensity(y, f), c.Likelihood.LogDensity(y, f)
		if a < b-1 || a > b+30 {
			t.Errorf("%s: log density %g of the fit, %g of the truth", c.Name, a, b)
		}
		if v, want := likelihood.NoiseVariance(got), likelihood.NoiseVariance(c.Likelihood); math.Abs(v-want) > 0.2*want {
			t.Errorf("%s: noise %g, want %g", c.Name, v, want)
		}
	}
}

// TestFitFewRows: with 20 rows of Gaussian noise every model has a finite fit, which is not much better on those rows
// than the Gaussian's, and Student's t stays near it.
func TestFitFewRows(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 7))
		f, y := make([]float64, 20), fixture.Normal(rng, 20)
		gauss, err := likelihood.Fit(likelihood.NewGaussian(1, tensor.Float64), y, f)
		if err != nil {
			t.Fatal(err)
		}
		want := 0.0
		for _, v := range y {
			want += v * v / 20
		}
		fixture.Close(t, "variance", []float64{likelihood.NoiseVariance(gauss)}, []float64{want}, 1e-12)
		for _, name := range []string{"student-t", "mixture"} {
			m, _ := likelihood.Lookup(name)
			start, _ := m.New().Start(1, y)
			got, err := likelihood.Fit(start, y, f)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if gain := got.LogDensity(y, f) - gauss.LogDensity(y, f); !(gain > -3 && gain < 8) {
				t.Errorf("%s: the fit to 20 rows gains %g over the Gaussian", name, gain)
			}
		}
	}
}

// TestFitErrors: no rows, targets of another length and numbers that are not finite.
func TestFitErrors(t *testing.T) {
	_, l := example(t, "student-t", nil)
	for _, c := range []struct{ y, f []float64 }{{nil, nil}, {[]float64{1, 2}, []float64{1}}, {[]float64{math.NaN()}, []float64{0}}, {[]float64{1}, []float64{math.Inf(1)}}} {
		if got, err := likelihood.Fit(l, c.y, c.f); err == nil {
			t.Errorf("%v at %v: %v, expected an error", c.y, c.f, got)
		}
	}
	same, err := likelihood.Fit(likelihood.Softmax{}, []float64{0, 1}, []float64{0, 0})
	if err != nil || same != (likelihood.Softmax{}) {
		t.Errorf("softmax: %v, %v", same, err)
	}
}

// BenchmarkQuantile is one predictive quantile of each model.
func BenchmarkQuantile(b *testing.B) {
	for _, name := range []string{"gaussian", "student-t", "mixture", "bernoulli", "poisson", "negative-binomial"} {
		m, err := likelihood.Lookup(name)
		if err != nil {
			b.Fatal(err)
		}
		l, err := m.New().Start(1, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.Predict(0, 0.7, 0.4).Quantile(0.975)
			}
		})
	}
}

// TestCRPS: the closed form of a Gaussian equals the integral, which a distribution of another type has; the score of a
// yes or no is the squared difference of the probability; classes have none.
func TestCRPS(t *testing.T) {
	n := likelihood.Normal{Mu: 1, Sigma: 0.3}
	for _, y := range []float64{-20, 0.9, 1, 3} {
		got := likelihood.CRPS(n, y, likelihood.Number)
		want := likelihood.CRPS(struct{ likelihood.Distribution }{n}, y, likelihood.Number)
		fixture.Close(t, fmt.Sprint("Gaussian at ", y), []float64{got}, []float64{want}, 1e-9)
	}
	d := likelihood.Each(likelihood.Bernoulli).Predict(0, 0.4, 0.5)
	fixture.Close(t, "yes", []float64{likelihood.CRPS(d, 1, likelihood.Binary)}, []float64{d.CDF(0) * d.CDF(0)}, 1e-12)
	if v := likelihood.CRPS(nil, 1, likelihood.Class); !math.IsNaN(v) {
		t.Errorf("classes have the score %g", v)
	}
}
