package law_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/internal/kernel"
)

// fit fits a law to residuals, and fails the test if the fit does.
func fit(t testing.TB, r law.Residuals, o law.Options) (law.Law, law.Report) {
	t.Helper()
	l, report, err := law.Fit(context.Background(), r, o)
	if err != nil {
		t.Fatal(err)
	}
	return l, report
}

// draws returns n draws of a law.
func draws(l law.Law, n int, seed uint64) law.Residuals {
	r, rng := law.Residuals{}, rand.New(rand.NewPCG(seed, uint64(n)))
	for range n {
		r.Z = append(r.Z, l.Draw(rng))
	}
	return r
}

// uneven returns n residuals whose log scale depends on two of d features, and the log scales.
func uneven(rng *rand.Rand, n, d int, strength float64, noise law.Law) (r law.Residuals, logs []float64) {
	for range n {
		x := make([]float64, d)
		for j := range x {
			x[j] = 5 + 3*rng.NormFloat64()
		}
		a, b := (x[0]-5)/3, (x[1]-5)/3
		h := strength * (0.5*a + math.Tanh(2*b)*0.4)
		r.Features, logs = append(r.Features, x...), append(logs, h)
		r.Z = append(r.Z, math.Exp(h)*noise.Draw(rng))
	}
	return r, logs
}

// skewed is a law of the kind of late flights.
func skewed() law.Law {
	return law.Law{Family: law.Mixture, Weights: []float64{0.75, 0.25}, Shifts: []float64{-0.5, 1.5}, Scales: []float64{0.4, 0.8}}
}

// TestRecovery: fits to many draws find the family and the numbers.
func TestRecovery(t *testing.T) {
	for _, dof := range []float64{2.5, 4, 9} {
		l, _ := fit(t, draws(law.Law{Family: law.StudentT, DoF: dof, Scale: 0.6}, 6000, 1), law.Options{})
		if l.Family != law.StudentT {
			t.Fatalf("a t with %g degrees of freedom: %+v", dof, l)
		}
		near(t, "inverse of the degrees of freedom", 1/l.DoF, 1/dof, 0.03) // three standard errors
		near(t, "scale", l.Scale, 0.6, 0.03)
	}
	truth := skewed()
	l, _ := fit(t, draws(truth, 6000, 2), law.Options{})
	if l.Family != law.Mixture || l.Check() != nil {
		t.Fatalf("a skewed law: %+v", l)
	}
	for _, p := range []float64{0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99} {
		near(t, fmt.Sprintf("CDF at the quantile of %g", p), l.CDF(truth.Quantile(p)), p, 0.015)
	}
	near(t, "variance over the truth", l.Variance()/truth.Variance(), 1, 0.07)
}

// TestShrinkage: 20 rows that look like a Gaussian give almost the Gaussian, whose tails are as heavy as 20 rows permit,
// and so do 20 rows that are a little wider in the tails. Strong outliers give heavy tails.
func TestShrinkage(t *testing.T) {
	g := law.Normal()
	var calm law.Residuals
	for i := range 20 {
		calm.Z = append(calm.Z, g.Quantile((float64(i)+0.5)/20))
	}
	l, _ := fit(t, calm, law.Options{Family: law.StudentT})
	if l.DoF < 45 || l.DoF > 46 || math.Abs(l.Scale-1) > 0.03 || math.Abs(l.Skew) > 0.01 {
		t.Errorf("Gaussian rows: %+v", numbers(l))
	}
	calm.Z[0], calm.Z[19] = -2.8, 2.6
	if l, _ = fit(t, calm, law.Options{Family: law.StudentT}); l.DoF < 30 || math.Abs(l.Scale-1) > 0.1 {
		t.Errorf("wider rows: %+v", numbers(l))
	}
	calm.Z[3], calm.Z[11] = -9, 14
	if l, _ = fit(t, calm, law.Options{}); l.Family != law.StudentT || l.DoF > 5 {
		t.Errorf("outliers: %+v", l)
	}
	for i := range calm.Z {
		calm.Z[i] = 0
	}
	if l, _ = fit(t, calm, law.Options{Family: law.StudentT}); l.Check() != nil || l.Scale > 1 {
		t.Errorf("zeros: %+v", l)
	}
}

// TestOwnScale: h(x) is found where the scale depends on features, and removes most of its variation.
func TestOwnScale(t *testing.T) {
	for family, noise := range map[string]law.Law{law.StudentT: {Family: law.StudentT, DoF: 5, Scale: 0.7}, law.Mixture: skewed()} {
		r, _ := uneven(rand.New(rand.NewPCG(3, 4)), 3000, 5, 1, noise)
		l, report := fit(t, r, law.Options{})
		if l.Own == nil || l.Family != family || l.Features() != 5 {
			t.Fatalf("own scale %v, family %s, want %s\n%v", l.Own, l.Family, family, report)
		}
		fresh, logs := uneven(rand.New(rand.NewPCG(5, 6)), 2000, 5, 1, noise)
		var before, after []float64
		for i, h := range logs {
			got := l.LogScale(fresh.Features[5*i : 5*i+5])
			before, after = append(before, h), append(after, h-got)
		}
		if ratio := kernel.StandardError(after) / kernel.StandardError(before); ratio > 0.3 {
			t.Errorf("%s: the error of h(x) is %g of its variation", family, ratio)
		}
	}
}

// TestNoOwnScale: h(x) and mixtures are not taken where the residuals depend on no feature and are a t.
func TestNoOwnScale(t *testing.T) {
	own, mixtures := 0, 0
	for _, noise := range []law.Law{law.Normal(), {Family: law.StudentT, DoF: 3, Scale: 0.6}} {
		for seed := range uint64(60) {
			r, _ := uneven(rand.New(rand.NewPCG(seed, 8)), 100+5*int(seed), 4, 0, noise)
			l, _ := fit(t, r, law.Options{})
			if l.Own != nil {
				own++
			}
			if l.Family == law.Mixture {
				mixtures++
			}
		}
	}
	if own > 4 || mixtures > 4 {
		t.Errorf("%d own scales and %d mixtures of 120 fits to even residuals", own, mixtures)
	}
}

// TestNeverWorse compares fitted laws with the Gaussian on as many fresh rows as the fit had. Chance alone makes a
// law that equals the Gaussian worse by two standard errors in 2.5 of 100 cases.
func TestNeverWorse(t *testing.T) {
	g := law.Normal()
	for name, truth := range map[string]law.Law{
		"gaussian": g, "t3": {Family: law.StudentT, DoF: 3, Scale: 1 / math.Sqrt(3)}, "skewed": skewed(),
		"bimodal":      {Family: law.Mixture, Weights: []float64{0.5, 0.5}, Shifts: []float64{-0.9, 0.9}, Scales: []float64{0.4, 0.4}},
		"contaminated": {Family: law.Mixture, Weights: []float64{0.97, 0.03}, Shifts: []float64{0, 0}, Scales: []float64{0.5, 5}},
	} {
		worse, fits := 0, 0
		for n, seeds := range map[int]uint64{12: 40, 30: 40, 80: 40, 400: 10, 5000: 2} {
			gain := 0.0
			for seed := range seeds {
				l, _ := fit(t, draws(truth, n, seed), law.Options{})
				var gains []float64
				for _, z := range draws(truth, n, seed+1000).Z {
					gains = append(gains, l.LogDensity(z)-g.LogDensity(z))
				}
				mean := kernel.Mean(gains)
				gain += mean / float64(seeds)
				if fits++; mean < -2*kernel.StandardError(gains) {
					worse++
				}
			}
			if gain < -0.01 || n >= 400 && name != "gaussian" && gain < 0.1 {
				t.Errorf("%s, %d rows: mean gain %g", name, n, gain)
			}
		}
		if worse > fits*6/100 {
			t.Errorf("%s: worse than the Gaussian by two standard errors in %d of %d fits", name, worse, fits)
		}
	}
}

// TestChoices: options name a family and an own scale, and few rows or no varying feature leave the Gaussian.
func TestChoices(t *testing.T) {
	r, _ := uneven(rand.New(rand.NewPCG(1, 1)), 200, 3, 0, law.Normal())
	for _, family := range []string{law.Gaussian, law.StudentT, law.Mixture} {
		l, report := fit(t, r, law.Options{Family: family})
		if l.Family != family || l.Own != nil {
			t.Errorf("family %s: %+v", family, l)
		}
		if s := report.String(); !strings.Contains(s, "200 held-out rows") || !strings.Contains(s, family+" -1.") {
			t.Errorf("report %q", s)
		}
	}
	if l, _ := fit(t, r, law.Options{Own: law.OwnAlways}); l.Own == nil {
		t.Error("no own scale, though it was wanted")
	}
	strong, _ := uneven(rand.New(rand.NewPCG(1, 1)), 500, 3, 2, law.Normal())
	if l, _ := fit(t, strong, law.Options{Own: law.OwnNever}); l.Own != nil {
		t.Error("an own scale, though none was wanted")
	}
	clear(strong.Features)
	if l, _ := fit(t, strong, law.Options{Own: law.OwnAlways}); l.Own != nil {
		t.Error("an own scale of features without variation")
	}
	few, report := fit(t, law.Residuals{Z: []float64{1, 200, -3}}, law.Options{Family: law.StudentT})
	if !reflect.DeepEqual(few, law.Normal()) || !strings.Contains(report.String(), "3 held-out rows are fewer than 5") {
		t.Errorf("three rows: %+v, %v", few, report)
	}
}

// TestSymmetric: residuals whose mean changes along the rows, and the option Symmetric, give a symmetric law, and the
// report says so. Otherwise the same skewed residuals give a skewed law.
func TestSymmetric(t *testing.T) {
	truth := law.Law{Family: law.StudentT, DoF: 6, Scale: 0.8, Skew: 0.6}
	even := draws(truth, 800, 1)
	moving := draws(truth, 800, 1)
	for i := range moving.Z {
		moving.Z[i] += math.Sin(float64(i) / 60)
	}
	if l, report := fit(t, even, law.Options{}); l.Skew < 0.3 && l.Family == law.StudentT || report.Drift != 0 {
		t.Errorf("even residuals: %v, %v", numbers(l), report)
	}
	if l, report := fit(t, moving, law.Options{}); l.Family != law.StudentT || l.Skew != 0 || report.Drift < 8 || !strings.Contains(report.String(), "so the law is symmetric") {
		t.Errorf("moving residuals: %v, %v", numbers(l), report)
	}
	if l, _ := fit(t, even, law.Options{Symmetric: true}); l.Family != law.StudentT || l.Skew != 0 {
		t.Errorf("the option Symmetric: %v", numbers(l))
	}
	if l, _ := fit(t, moving, law.Options{Family: law.Mixture}); l.Family != law.Mixture {
		t.Errorf("the wanted mixture: %s", l)
	}
}

// TestOutlierCosts: a law of 70 rows without outliers costs far less than the Gaussian where a fresh row is 12 standard
// deviations away.
func TestOutlierCosts(t *testing.T) {
	g := law.Normal()
	l, _ := fit(t, draws(law.Law{Family: law.Mixture, Weights: []float64{0.5, 0.5}, Shifts: []float64{-0.5, 0.5}, Scales: []float64{0.8, 0.8}}, 70, 3), law.Options{Family: law.StudentT})
	if gain := l.LogDensity(12) - g.LogDensity(12); gain < 30 {
		t.Errorf("the log density of a row 12 standard deviations away is %g above the Gaussian's with %v", gain, numbers(l))
	}
}

// TestDeterminism: the same residuals, options and seed give the same bits.
func TestDeterminism(t *testing.T) {
	r, _ := uneven(rand.New(rand.NewPCG(1, 1)), 400, 3, 1, skewed())
	a, first := fit(t, r, law.Options{Seed: 3})
	b, second := fit(t, r, law.Options{Seed: 3})
	if c, _ := fit(t, r, law.Options{Seed: 4}); !reflect.DeepEqual(a, b) || !reflect.DeepEqual(first, second) || reflect.DeepEqual(a, c) {
		t.Error("fits differ with the same seed, or are the same with another")
	}
}

// TestErrors: wrong residuals and options are refused in one line.
func TestErrors(t *testing.T) {
	ten := make([]float64, 10)
	for want, c := range map[string]struct {
		r law.Residuals
		o law.Options
	}{
		`law "laplace", expected`:                     {law.Residuals{}, law.Options{Family: "laplace"}},
		`own scale "yes", expected`:                   {law.Residuals{}, law.Options{Own: "yes"}},
		`own scale "on" of the law "gaussian"`:        {law.Residuals{}, law.Options{Family: law.Gaussian, Own: law.OwnAlways}},
		"residual 1 is NaN":                           {law.Residuals{Z: []float64{0, math.NaN()}}, law.Options{}},
		"residual 0 is -1e+200":                       {law.Residuals{Z: []float64{-1e200}}, law.Options{}},
		"7 features of 10 residuals":                  {law.Residuals{Z: ten, Features: ten[:7]}, law.Options{}},
		"1 features of 0 residuals":                   {law.Residuals{Features: ten[:1]}, law.Options{}},
		"feature 1 of residual 0 is +Inf, expected a": {law.Residuals{Z: ten[:1], Features: []float64{0, math.Inf(1)}}, law.Options{}},
	} {
		_, _, err := law.Fit(context.Background(), c.r, c.o)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := law.Fit(ctx, law.Residuals{Z: ten}, law.Options{}); err != context.Canceled {
		t.Errorf("error %v of a cancelled fit", err)
	}
}

// TestReportJSON: a report survives a round trip.
func TestReportJSON(t *testing.T) {
	_, report := fit(t, draws(skewed(), 300, 1), law.Options{})
	text, err := json.Marshal(report)
	var read law.Report
	if err != nil || json.Unmarshal(text, &read) != nil || !reflect.DeepEqual(read, report) || len(read.Tried) != 3 {
		t.Errorf("report %s, error %v", text, err)
	}
}

func BenchmarkFit(b *testing.B) {
	for name, n := range map[string]int{"500 rows": 500, "10000 rows": 10_000} {
		r, _ := uneven(rand.New(rand.NewPCG(1, 2)), n, 8, 1, law.Law{Family: law.StudentT, DoF: 4, Scale: 0.7})
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, _ = fit(b, r, law.Options{})
			}
		})
	}
}

// TestSurely: where the t has to be surely better, Gaussian residuals keep the Gaussian, and residuals with heavy tails
// have a t all the same.
func TestSurely(t *testing.T) {
	r := draws(law.Normal(), 400, 1)
	if l, _ := fit(t, r, law.Options{}); l.Family != law.StudentT {
		t.Errorf("the law of Gaussian residuals is %v, want a t that is hardly worse", l)
	}
	if l, _ := fit(t, r, law.Options{Surely: true}); l.Family != law.Gaussian {
		t.Errorf("the law of Gaussian residuals is surely %v", l)
	}
	heavy := draws(law.Law{Family: law.StudentT, DoF: 3, Scale: 0.6}, 2000, 1)
	if l, _ := fit(t, heavy, law.Options{Surely: true}); l.Family != law.StudentT {
		t.Errorf("the law of residuals with heavy tails is %v", l)
	}
}

// TestEqualResiduals: residuals that are all the same, whose scores say nothing about h, have a law with a finite density.
func TestEqualResiduals(t *testing.T) {
	for _, n := range []int{60, 300} {
		for _, z := range []float64{0, 1, -3} {
			rng, r := rand.New(rand.NewPCG(1, 2)), law.Residuals{}
			for range n {
				r.Z, r.Features = append(r.Z, z), append(r.Features, rng.NormFloat64())
			}
			for _, own := range []string{law.OwnChosen, law.OwnAlways} {
				l, _, err := law.Fit(t.Context(), r, law.Options{Own: own})
				if v := l.LogDensity(z) - l.LogScale(r.Features[:1]); err != nil || v-v != 0 {
					t.Errorf("%d residuals %g: log density %g of the law %v, error %v", n, z, v, l, err)
				}
			}
		}
	}
}
