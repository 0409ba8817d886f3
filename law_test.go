package valla

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/law"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
)

// heavy is a table of n rows with a target whose noise is Student's t with 3 degrees of freedom and grows with x.
func heavy(n int, seed uint64) *data.Set {
	rng := rand.New(rand.NewPCG(seed, 35))
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = 4*rng.Float64() - 2
		square := 0.0
		for range 3 {
			v := rng.NormFloat64()
			square += v * v / 3
		}
		y[i] = math.Sin(2*x[i]) + 0.1*math.Exp(1.2*x[i])*rng.NormFloat64()/math.Sqrt(square)
	}
	return &data.Set{Features: []string{"x"}, Targets: []string{"y"}, X: denseOf(x, n, 1), Y: denseOf(y, n, 1)}
}

// heavyModels are fits to heavy rows with the Gaussian and with the law that held-out rows choose.
func heavyModels(t testing.TB, set *data.Set) (gaussian, chosen *Model) {
	t.Helper()
	o := quickTrain()
	m, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	s := &vallagp.Settings{Inducing: 12, Iterations: 60}
	if gaussian, err = m.Fit(t.Context(), set, FitOptions{Settings: s, Law: law.Gaussian}); err != nil {
		t.Fatal(err)
	}
	if chosen, err = m.Fit(t.Context(), set, FitOptions{Settings: s}); err != nil {
		t.Fatal(err)
	}
	return gaussian, chosen
}

// TestLaw: on rows with heavy tails the chosen law has a smaller NLL and CRPS on fresh rows, the mean stays, the file
// keeps the law, and quantiles, CDF, density and coverage agree with each other.
func TestLaw(t *testing.T) {
	set, fresh := heavy(8000, 1), heavy(1500, 2)
	gaussian, chosen := heavyModels(t, set)
	if gaussian.Laws != nil || len(chosen.Laws) != 1 || chosen.Laws[0].Own == nil {
		t.Fatalf("laws %v and %v, expected none and one with own scales", gaussian.Laws, chosen.Laws)
	}
	chosen = loaded(t, written(t, chosen))
	a, err := gaussian.Evaluate(t.Context(), fresh, PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := chosen.Evaluate(t.Context(), fresh, PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	crpsA, _ := a.Get("CRPS")
	crpsB, _ := b.Get("CRPS")
	if !(b.NLL() < a.NLL()-0.2) || !(crpsB < crpsA) {
		t.Errorf("scores %v with the law, %v without", b.List, a.List)
	}
	p, q := predict(t, gaussian, fresh.X), predict(t, chosen, fresh.X)
	if !slices.Equal(p.Mean, q.Mean) {
		t.Error("the law has moved the mean")
	}
	checkDistributions(t, q, graph.Floats(fresh.Y))
	for _, level := range []float64{0.5, 0.9, 0.95} {
		inside, _, err := q.Covered(graph.Floats(fresh.Y), level)
		if share := float64(inside) / 1500; err != nil || math.Abs(share-level) > 0.04 {
			t.Errorf("%g %% intervals hold %g of the rows, error %v", 100*level, share, err)
		}
	}
}

// checkDistributions compares what a prediction says of its distributions.
func checkDistributions(t *testing.T, p *Prediction, y []float64) {
	t.Helper()
	for i := range 20 {
		d := p.Distribution(i, 0)
		near(t, "mean", d.Mean(), p.Mean[i], 1e-12)
		near(t, "variance", d.Variance(), p.Variance[i], 1e-9)
		for _, level := range []float64{0.01, 0.3, 0.5, 0.99} {
			v := p.Quantiles(level)[i]
			near(t, "quantile", d.Quantile(level), v, 1e-12)
			near(t, "CDF of a quantile", d.CDF(v), level, 1e-8)
			near(t, "probability above a quantile", p.Above(v)[i], 1-level, 1e-8)
		}
		const h = 1e-5
		near(t, "density", math.Exp(d.LogDensity(y[i])), (d.CDF(y[i]+h)-d.CDF(y[i]-h))/(2*h), 1e-4)
	}
}

// TestLawRefusals: laws that are unknown, or that do not fit the model.
func TestLawRefusals(t *testing.T) {
	set := heavy(100, 3)
	m, err := Train(t.Context(), set, quickTrain())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Fit(t.Context(), set, FitOptions{Settings: &laplace.Settings{}, Law: "cauchy"}); !errors.Is(err, ErrSetting) {
		t.Errorf("the law cauchy: error %v", err)
	}
	f := fit(t, m, set, FitOptions{Settings: &laplace.Settings{}, Law: law.StudentT})
	for _, wrong := range [][]law.Law{{}, {law.Normal(), law.Normal()}, {{Family: law.StudentT, DoF: 1, Scale: 1}}} {
		f.Laws = wrong
		if err := f.Save(t.TempDir() + "/m.valla"); err == nil {
			t.Errorf("laws %v were written", wrong)
		}
	}
}

// TestLawRowBits: with own scales a row has the same bits alone and among others, in a Predictor too, whose
// rows with an interval allocate nothing.
func TestLawRowBits(t *testing.T) {
	set := heavy(2000, 4)
	_, m := heavyModels(t, set)
	all := predict(t, m, set.X)
	p, err := m.Predictor(PredictorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out Prediction
	var lower, upper []float64
	row := func(i int) {
		if err := p.Predict(t.Context(), set.X.Float64s()[i:i+1], &out); err != nil {
			t.Fatal(err)
		}
		if lower, upper, err = out.AppendInterval(lower[:0], upper[:0], 0.9); err != nil {
			t.Fatal(err)
		}
	}
	low, high, err := all.Interval(0.9)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		row(i)
		if out.Mean[0] != all.Mean[i] || out.Variance[0] != all.Variance[i] || lower[0] != low[i] || upper[0] != high[i] {
			t.Errorf("row %d: %g, %g, %g, %g alone; %g, %g, %g, %g among others", i, out.Mean[0], out.Variance[0], lower[0], upper[0],
				all.Mean[i], all.Variance[i], low[i], high[i])
		}
	}
	if n := testing.AllocsPerRun(50, func() { row(7) }); n > 0 {
		t.Errorf("%g allocations for a row", n)
	}
}

// BenchmarkLaw measures a row with mean, standard deviation and interval, with the Gaussian and with the chosen law.
func BenchmarkLaw(b *testing.B) {
	gaussian, chosen := heavyModels(b, heavy(3000, 1))
	benchmarkIntervals(b, map[string]*Model{"gaussian": gaussian, "chosen": chosen})
}

// benchmarkIntervals measures a row with mean, standard deviation and interval.
func benchmarkIntervals(b *testing.B, models map[string]*Model) {
	for name, m := range models {
		p, err := m.Predictor(PredictorOptions{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			var out Prediction
			var lower, upper []float64
			b.ReportAllocs()
			for range b.N {
				if err := p.Predict(b.Context(), []float64{0.3}, &out); err != nil {
					b.Fatal(err)
				}
				lower, upper, _ = out.AppendInterval(lower[:0], upper[:0], 0.9)
			}
		})
	}
}

// TestLawTemperature: a temperature multiplies the standard deviation of every row, also where the law has own scales
// that depend on the standard deviation of the posterior.
func TestLawTemperature(t *testing.T) {
	set := heavy(2000, 4)
	_, m := heavyModels(t, set)
	last := m.lawInputs() + 1
	own := &law.OwnScale{
		Mean: make([]float64, last+1), Inverse: make([]float64, last+1), Linear: make([]float64, last+1),
		Inputs: []int{}, Slopes: []float64{}, Bias: []float64{}, Output: []float64{}, Lowest: -5, Highest: 5,
	}
	own.Inverse[last], own.Linear[last] = 1, -1 // all rows have one scale
	m.Laws = []law.Law{{Family: law.StudentT, DoF: 4, Scale: 1, Own: own}}
	hot := *m
	hot.Calibration = &Calibration{Temperature: 2}
	a, b := predict(t, m, set.X), predict(t, &hot, set.X)
	for i, v := range a.Std() {
		near(t, "standard deviation", b.Std()[i], 2*v, 1e-9)
	}
}

// TestPseudoRowsLaw: pseudo-rows give a symmetric t without own scales, where held-out rows with the same residuals give a
// skewed law.
func TestPseudoRowsLaw(t *testing.T) {
	truth, rng, r := law.Law{Family: law.StudentT, DoF: 6, Scale: 0.8, Skew: 0.8}, rand.New(rand.NewPCG(1, 1)), law.Residuals{}
	for range 400 {
		r.Z, r.Features = append(r.Z, truth.Draw(rng)), append(r.Features, rng.NormFloat64())
	}
	l, err := division{pseudo: true}.lawOf(t.Context(), r)
	if err != nil || l.Family != law.StudentT || l.Skew != 0 || l.Own != nil {
		t.Errorf("law %+v of pseudo-rows, error %v", l, err)
	}
	if l, err = (division{}).lawOf(t.Context(), r); err != nil || l.Family == law.StudentT && l.Skew < 0.4 {
		t.Errorf("law %+v of held-out rows, error %v", l, err)
	}
}
