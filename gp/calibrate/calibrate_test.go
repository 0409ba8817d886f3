package calibrate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp/calibrate"
)

// TestQuantile: the k-th smallest score, k = ⌈(n+1)·level⌉, for each target its own.
func TestQuantile(t *testing.T) {
	mean, variance, y := make([]float64, 18), make([]float64, 18), make([]float64, 18)
	for i := range 9 { // residuals 9 … 1 in standard deviations of ½, and 10 times that
		y[2*i], y[2*i+1] = float64(9-i)*math.Pow(-1, float64(i)), 10*float64(9-i)
		variance[2*i], variance[2*i+1] = 0.25, 0.25
	}
	c := calibrate.Numbers(mean, variance, y, 2)
	if err := c.Check(2); err != nil {
		t.Fatal(err)
	}
	for level, want := range map[float64]float64{0: 0, 0.05: 2, 0.1: 2, 0.11: 4, 0.5: 10, 0.9: 18} {
		for target, scale := range []float64{1, 10} {
			if got, err := c.Quantile(target, level); err != nil || got != scale*want {
				t.Errorf("target %d, level %g: %g, error %v, want %g", target, level, got, err, scale*want)
			}
		}
	}
	_, err := c.Quantile(0, 0.95)
	if err == nil || err.Error() != "the level 0.95 needs a conformal calibration with 19 rows at least, this one has 9: expected a level of at most 0.9" {
		t.Errorf("too few rows: %v", err)
	}
	for _, level := range []float64{-0.1, 1, math.NaN()} {
		if _, err := c.Quantile(0, level); err == nil {
			t.Errorf("level %g passes", level)
		}
	}
}

func TestCheck(t *testing.T) {
	for want, c := range map[string]*calibrate.Conformal{
		"0 conformal scores of 0 rows": {},
		"2 conformal scores of 3 rows": {Rows: 3, Scores: []float64{1, 2}},
		"target 0, expected finite":    {Rows: 2, Scores: []float64{2, 1}},
		"from 0 on":                    {Rows: 1, Scores: []float64{-1}},
		"of target 0":                  {Rows: 1, Scores: []float64{math.NaN()}},
		"expected finite numbers":      {Rows: 1, Scores: []float64{math.Inf(1)}},
	} {
		if err := c.Check(1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestCoverage: over 200 random divisions of fresh tables, the share of the other half in the
// intervals and sets is the promised one, though the model is quite wrong.
func TestCoverage(t *testing.T) {
	const splits, n, tests, level = 200, 49, 50, 0.9
	rng := rand.New(rand.NewPCG(1, 1))
	numbers, classes := 0, 0
	for range splits {
		mean, variance, y := wrongNumbers(rng, n+tests)
		q, err := calibrate.Numbers(mean[:n], variance[:n], y[:n], 1).Quantile(0, level)
		if err != nil {
			t.Fatal(err)
		}
		for i := n; i < n+tests; i++ {
			if math.Abs(y[i]-mean[i]) <= q*math.Sqrt(variance[i]) {
				numbers++
			}
		}
		probs, labels := wrongClasses(rng, n+tests)
		if q, err = calibrate.Classes(probs[:3*n], labels[:n], "probit").Quantile(0, level); err != nil {
			t.Fatal(err)
		}
		for i := n; i < n+tests; i++ {
			if 1-probs[3*i+labels[i]] <= q {
				classes++
			}
		}
	}
	// The coverage given the n rows is a Beta(k, n+1−k) variable, k = 45.
	const k, all = 45.0, n + 1.0
	expected := k / all
	spread := math.Sqrt((expected*(1-expected)/(all+1) + expected*(1-expected)*(1-1/(all+1))/tests) / splits)
	for name, inside := range map[string]int{"numbers": numbers, "classes": classes} {
		if share := float64(inside) / (splits * tests); math.Abs(share-expected) > 3*spread {
			t.Errorf("%s: coverage %.4f, want %.4f within three standard errors of %.4f", name, share, expected, spread)
		}
	}
}

// wrongNumbers are skew targets and predictions that err in mean and variance.
func wrongNumbers(rng *rand.Rand, n int) (mean, variance, y []float64) {
	for range n {
		x := rng.NormFloat64()
		mean, variance = append(mean, x), append(variance, 0.01+x*x)
		y = append(y, 2*x+1+rng.ExpFloat64()*math.Exp(-x))
	}
	return mean, variance, y
}

// wrongClasses are three classes with overconfident probabilities [n,3].
func wrongClasses(rng *rand.Rand, n int) (probs []float64, labels []int) {
	for range n {
		a, b := 3*rng.NormFloat64(), 3*rng.NormFloat64()
		total := math.Exp(a) + math.Exp(b) + 1
		probs = append(probs, math.Exp(a)/total, math.Exp(b)/total, 1/total)
		label := rng.IntN(3)
		if rng.Float64() < 0.3 && a > 0 {
			label = 0
		}
		labels = append(labels, label)
	}
	return probs, labels
}

// TestGaussianTruth: where the prediction is right, the interval is the Gaussian one.
func TestGaussianTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	mean, variance, y := make([]float64, 20000), make([]float64, 20000), make([]float64, 20000)
	for i := range y {
		mean[i], variance[i] = rng.NormFloat64(), rng.ExpFloat64()
		y[i] = mean[i] + math.Sqrt(variance[i])*rng.NormFloat64()
	}
	q, err := calibrate.Numbers(mean, variance, y, 1).Quantile(0, 0.95)
	if err != nil || math.Abs(q-1.95996) > 0.05 { // three standard errors
		t.Errorf("quantile %g, error %v, want 1.96", q, err)
	}
	if d, err := calibrate.Deviation(mean, variance, y); err != nil || math.Abs(d-1) > 0.015 {
		t.Errorf("factor %g, error %v, want 1", d, err)
	}
}

// logits are Gaussian logits [n,4] and labels drawn with the probabilities of logits times τ.
func logits(n int, tau, variance float64) (mean, cov []float64, labels []int) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range n {
		row, total, p := make([]float64, 4), 0.0, rng.Float64()
		for k := range row {
			row[k] = 2 * rng.NormFloat64()
			total += math.Exp(tau * row[k])
			cov = append(cov, variance*rng.Float64())
		}
		label := 0
		for sum := math.Exp(tau*row[0]) / total; sum < p && label < 3; {
			label++
			sum += math.Exp(tau*row[label]) / total
		}
		mean, labels = append(mean, row...), append(labels, label)
	}
	return mean, cov, labels
}

// TestTemperature: it is the inverse of the τ by which labels are drawn, and no other of a fine
// grid has a smaller negative log-likelihood, also with a posterior; without one the derivative
// Σ (E_p g − g_y) is 0.
func TestTemperature(t *testing.T) {
	for _, tau := range []float64{0.3, 1, 2.5} {
		for _, variance := range []float64{0, 0.2} {
			mean, cov, labels := logits(4000, tau, variance)
			got, err := calibrate.Temperature(mean, cov, labels)
			if err != nil {
				t.Fatal(err)
			}
			if variance == 0 && math.Abs(got*tau-1) > 0.1 {
				t.Errorf("τ %g: temperature %g", tau, got)
			}
			best := calibrate.NLL(mean, cov, labels, got)
			for k := -100; k <= 100; k++ {
				if v := calibrate.NLL(mean, cov, labels, got*math.Exp(float64(k)/1000)); v < best-1e-12 {
					t.Fatalf("τ %g, variance %g: NLL %.12g at the temperature %g times e^%g, %.12g there", tau, variance, v, got, float64(k)/1000, best)
				}
			}
			if slope := derivative(mean, labels, got); variance == 0 && math.Abs(slope) > 1e-6 {
				t.Errorf("τ %g: derivative %g", tau, slope)
			}
		}
	}
}

// derivative is the mean of E_p g − g_y with p = softmax(g/T).
func derivative(mean []float64, labels []int, temperature float64) float64 {
	sum := 0.0
	for i, label := range labels {
		g, total, expected := mean[4*i:4*i+4], 0.0, 0.0
		for _, v := range g {
			total += math.Exp(v / temperature)
			expected += v * math.Exp(v/temperature)
		}
		sum += (expected/total - g[label]) / float64(len(labels))
	}
	return sum
}

// TestRefusals: what has no best temperature, or no best factor, is an error.
func TestRefusals(t *testing.T) {
	zeros := make([]float64, 4)
	_, right := calibrate.Temperature([]float64{3, 0, 0, 5}, zeros, []int{0, 1})
	_, wrong := calibrate.Temperature([]float64{3, 0, 0, 5}, zeros, []int{1, 0})
	_, exact := calibrate.Deviation([]float64{1, 2}, []float64{1, 1}, []float64{1, 2})
	for want, err := range map[string]error{"all calibration rows are told right": right, "say nothing about the classes": wrong, "predicted exactly": exact} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestDeviation: no other factor of a fine grid has a smaller negative log-likelihood.
func TestDeviation(t *testing.T) {
	mean, variance, y := wrongNumbers(rand.New(rand.NewPCG(4, 1)), 300)
	got, err := calibrate.Deviation(mean, variance, y)
	if err != nil {
		t.Fatal(err)
	}
	nll := func(factor float64) float64 {
		sum := 0.0
		for i, v := range y {
			s := factor * factor * variance[i]
			sum += 0.5*math.Log(s) + (v-mean[i])*(v-mean[i])/(2*s)
		}
		return sum
	}
	for k := -100; k <= 100; k++ {
		if factor := got * math.Exp(float64(k)/1000); nll(factor) < nll(got)-1e-9 {
			t.Errorf("NLL %g at %g, %g at %g", nll(factor), factor, nll(got), got)
		}
	}
}

func ExampleConformal() {
	c := calibrate.Numbers([]float64{0, 0, 0, 0}, []float64{1, 1, 1, 1}, []float64{-1, 3, 0.5, -2}, 1)
	q, err := c.Quantile(0, 0.8)
	fmt.Println("80 % of new rows lie within", q, "standard deviations;", err)
	// Output: 80 % of new rows lie within 3 standard deviations; <nil>
}
