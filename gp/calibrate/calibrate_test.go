package calibrate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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
		"0 conformal scores of 0 rows":    {},
		"2 conformal scores of 3 rows":    {Rows: 3, Scores: []float64{1, 2}},
		"target 0, expected finite":       {Rows: 2, Scores: []float64{2, 1}},
		"from 0 on":                       {Rows: 1, Scores: []float64{-1}},
		"of target 0":                     {Rows: 1, Scores: []float64{math.NaN()}},
		"expected finite numbers":         {Rows: 1, Scores: []float64{math.Inf(1)}},
		`expected "lac", "aps" or "raps"`: {Sets: "mondrian", Rows: 1, Scores: []float64{1}},
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
	numbers, classes, adaptive := 0, 0, 0
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
		classes += covered(t, probs, labels, n, level, calibrate.LAC)
		adaptive += covered(t, probs, labels, n, level, calibrate.APS)
	}
	// The coverage given the n rows is a Beta(k, n+1−k) variable, k = 45.
	const k, all = 45.0, n + 1.0
	expected := k / all
	spread := math.Sqrt((expected*(1-expected)/(all+1) + expected*(1-expected)*(1-1/(all+1))/tests) / splits)
	for name, inside := range map[string]int{"numbers": numbers, "classes": classes, "adaptive sets": adaptive} {
		if share := float64(inside) / (splits * tests); math.Abs(share-expected) > 3*spread {
			t.Errorf("%s: coverage %.4f, want %.4f within three standard errors of %.4f", name, share, expected, spread)
		}
	}
}

// covered counts the rows after the first n whose class is in its set.
func covered(t *testing.T, probs []float64, labels []int, n int, level float64, sets string) (inside int) {
	t.Helper()
	c := calibrate.Classes(probs[:3*n], labels[:n], "probit", sets, 7)
	q, err := c.Quantile(0, level)
	if err != nil || c.Check(1) != nil {
		t.Fatal(err, c.Check(1))
	}
	scores := make([]float64, 3)
	for i := n; i < len(labels); i++ {
		if c.ClassScores(scores, probs[3*i:3*i+3]); scores[labels[i]] <= q {
			inside++
		}
	}
	return inside
}

// TestAdaptiveScores: by hand, with equal probabilities in the order of the classes; the scores
// depend on the row and the seed alone, up to rounding, and U is uniform.
func TestAdaptiveScores(t *testing.T) {
	scores := make([]float64, 4)
	calibrate.AdaptiveScores(scores, []float64{0.2, 0.5, 0.1, 0.2}, 0.25, 0)
	for k, want := range []float64{0.5 + 0.25*0.2, 0.25 * 0.5, 0.9 + 0.25*0.1, 0.7 + 0.25*0.2} {
		if math.Abs(scores[k]-want) > 1e-15 {
			t.Errorf("score %g of class %d, want %g", scores[k], k, want)
		}
	}
	probs, _ := wrongClasses(rand.New(rand.NewPCG(5, 1)), 1000)
	one, two := calibrate.Conformal{Sets: calibrate.APS, Seed: 1}, calibrate.Conformal{Sets: calibrate.APS, Seed: 2}
	a, b, same, sum, squares := make([]float64, 3), make([]float64, 3), 0, 0.0, 0.0
	for i := 0; i < len(probs); i += 3 {
		row := probs[i : i+3]
		one.ClassScores(a, row)
		top := slices.Max(row)
		u := slices.Min(a) / top
		sum, squares = sum+u, squares+u*u
		if two.ClassScores(b, row); slices.Equal(a, b) {
			same++
		}
		one.ClassScores(b, []float64{row[0] * (1 + 1e-13), row[1], row[2] * (1 - 1e-13)})
		for k := range a {
			if math.Abs(a[k]-b[k]) > 1e-12 {
				t.Fatalf("row %v: scores %v, and after rounding %v", row, a, b)
			}
		}
	}
	if same > 0 || math.Abs(sum/1000-0.5) > 0.03 || math.Abs(squares/1000-1.0/3) > 0.03 { // three standard errors
		t.Errorf("%d rows have the same scores with another seed; moments of U: %g and %g", same, sum/1000, squares/1000)
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

// TestTemperatureIsOne: exactly where the derivative at 1 is 0.
func TestTemperatureIsOne(t *testing.T) {
	mean, cov, labels := logits(500, 0.7, 0)
	best, err := calibrate.Temperature(mean, cov, labels)
	if err != nil {
		t.Fatal(err)
	}
	for _, factor := range []float64{1, 1.001, 0.8} {
		scaled := make([]float64, len(mean))
		for i, v := range mean {
			scaled[i] = factor * v / best
		}
		got, err := calibrate.Temperature(scaled, cov, labels)
		slope := derivative(scaled, labels, 1)
		if err != nil || (math.Abs(slope) < 1e-6) != (factor == 1) || math.Abs(got-factor) > 1e-6 {
			t.Errorf("logits times %g: temperature %g, derivative %g, error %v", factor, got, slope, err)
		}
	}
}

// TestCautious: one row hardly moves the temperature from 1, many rows move it to the best one, and it is the lowest of a fine
// grid with its cost.
func TestCautious(t *testing.T) {
	mean, cov, labels := logits(200, 0.3, 0.2)
	best, err := calibrate.Temperature(mean, cov, labels)
	if err != nil {
		t.Fatal(err)
	}
	if one := calibrate.Cautious(mean[:4], cov[:4], labels[:1]); math.Abs(math.Log(one)) > 0.2 {
		t.Errorf("temperature %g of one row", one)
	}
	away := math.Inf(1)
	for _, times := range []int{1, 10, 100} {
		m, c, l := slices.Repeat(mean, times), slices.Repeat(cov, times), slices.Repeat(labels, times)
		got := calibrate.Cautious(m, c, l)
		if d := math.Abs(math.Log(got / best)); d > away/5 {
			t.Errorf("%d rows: the temperature %g is away from the best one %g by %g in logarithms, and was %g", len(l), got, best, d, away)
		} else {
			away = d
		}
		value := func(temperature float64) float64 {
			return calibrate.NLL(m, c, l, temperature) + calibrate.TemperatureCost(temperature)/float64(len(l))
		}
		for k := -300; k <= 300; k++ {
			if x := got * math.Exp(float64(k)/100); value(x) < value(got)-1e-12 {
				t.Fatalf("%d rows: the temperature %g has %.12g, %g has %.12g", len(l), got, value(got), x, value(x))
			}
		}
	}
	tiny := slices.Repeat([]float64{1e-3, 0}, 1000) // all right, and 0.01 is not low enough
	if one := calibrate.Cautious(tiny, make([]float64, 2000), make([]int, 1000)); one != 1 {
		t.Errorf("temperature %g of logits near 0, expected 1", one)
	}
	if away > 0.01 {
		t.Errorf("with %d rows the temperature is away from the best one by %g in logarithms", 100*len(labels), away)
	}
}

// TestVector: with equal scales it is a temperature; the best one has the derivative 0, is
// better than the best temperature and, where logits were changed by scales and biases,
// it is their inverse.
func TestVector(t *testing.T) {
	for _, variance := range []float64{0, 0.2} {
		mean, cov, labels := logits(8000, 1, variance)
		same := &calibrate.Vector{Scale: slices.Repeat([]float64{1 / 1.7}, 4), Bias: make([]float64, 4)}
		if a, b := calibrate.VectorNLL(mean, cov, labels, same), calibrate.NLL(mean, cov, labels, 1.7); math.Abs(a-b) > 1e-12 {
			t.Errorf("NLL %g with equal scales, %g with the temperature", a, b)
		}
		scale, bias := []float64{0.5, 2, 1, 0.7}, []float64{1, -0.5, 0, -0.5}
		for i := range mean { // so that the law of scale·f + bias is that of before
			mean[i], cov[i] = (mean[i]-bias[i%4])/scale[i%4], cov[i]/(scale[i%4]*scale[i%4])
		}
		v, err := calibrate.FindVector(mean, cov, labels)
		if err != nil {
			t.Fatal(err)
		}
		temperature, err := calibrate.Temperature(mean, cov, labels)
		best := calibrate.VectorNLL(mean, cov, labels, v)
		if err != nil || best > calibrate.NLL(mean, cov, labels, temperature)-0.01 {
			t.Errorf("NLL %g, error %v", best, err)
		}
		for i := range 8 {
			at := []*float64{&v.Scale[i%4], &v.Bias[i%4]}[i/4]
			was := *at
			*at = was + 1e-3
			up := calibrate.VectorNLL(mean, cov, labels, v)
			*at = was - 1e-3
			down := calibrate.VectorNLL(mean, cov, labels, v)
			if *at = was; math.Abs(up-down)/2e-3 > 1e-5 || up < best || down < best {
				t.Errorf("variance %g, number %d: NLL %.12g, beside it %.12g and %.12g", variance, i, best, up, down)
			}
		}
		for k := range scale {
			if got := v.Scale[k] / scale[k]; variance == 0 && (math.Abs(got-1) > 0.1 || math.Abs(v.Bias[k]-v.Bias[0]-bias[k]+bias[0]) > 0.15) {
				t.Errorf("class %d: scale %g, bias %g, want %g and %g", k, v.Scale[k], v.Bias[k], scale[k], bias[k])
			}
		}
	}
}

// TestRefusals: what has no best temperature, or no best factor, is an error.
func TestRefusals(t *testing.T) {
	zeros := make([]float64, 4)
	_, right := calibrate.Temperature([]float64{3, 0, 0, 5}, zeros, []int{0, 1})
	_, wrong := calibrate.Temperature([]float64{3, 0, 0, 5}, zeros, []int{1, 0})
	zeros = make([]float64, 6)
	_, missing := calibrate.FindVector([]float64{3, 0, 0, 5, 0, 1}, zeros, []int{0, 0, 0})
	_, separable := calibrate.FindVector([]float64{-1, 0, 3, 0, -0.5, 0}, zeros, []int{1, 0, 0})
	_, wide := calibrate.FindVector(wide())
	_, exact := calibrate.Deviation([]float64{1, 2}, []float64{1, 1}, []float64{1, 2})
	for want, err := range map[string]error{"all calibration rows are classified correctly": right, "say nothing about the classes": wrong, "predicted exactly": exact,
		"no calibration row is of class 1": missing, "tell all 3 calibration rows right": separable, "the best scale of class 1": wide} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// wide are rows whose second logit tells the classes, though it has a large variance.
func wide() (mean, variance []float64, labels []int) {
	rng := rand.New(rand.NewPCG(6, 1))
	for range 400 {
		label := rng.IntN(2)
		sign := float64(2*label - 1)
		mean, variance = append(mean, -sign+2*rng.NormFloat64(), 9*sign+3*rng.NormFloat64()), append(variance, 0, 100)
		labels = append(labels, label)
	}
	return mean, variance, labels
}

// TestVectorBelowZero: a logit has a negative scale where it speaks against its own class.
func TestVectorBelowZero(t *testing.T) {
	mean, variance, labels := logits(4000, 1, 0)
	for i := range mean { // what the second logit says, with another sign; the third doubly sure
		mean[i] *= []float64{1, -0.5, 2, 1}[i%4]
	}
	v, err := calibrate.FindVector(mean, variance, labels)
	if err != nil || !(v.Scale[1] < -1.5) || !(v.Scale[0] > 0.8) || v.Check(4) != nil || v.Check(3) == nil {
		t.Errorf("%+v, error %v", v, err)
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
