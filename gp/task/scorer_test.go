package task

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/train/metric"
)

// modelled returns a regression with an observation model, and its predictions for latent means and one variance.
func modelled(t *testing.T, name string, settings []string, means []float64, variance float64) (*Regression, *Prediction) {
	t.Helper()
	s, err := likelihood.Named(name, settings...)
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Start(1, []float64{0, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	r := &Regression{Names: []string{"y", "z"}[:l.Width()], NoiseVariance: likelihood.NoiseVariance(l)}
	if r.Model, err = likelihood.NewSpec(l, s); err != nil {
		t.Fatal(err)
	}
	if l.Kind() == likelihood.Number {
		r.Mean, r.Std = []float64{3}, []float64{2}
	}
	g := gp.Gaussian{Mean: means, Cov: make([]float64, len(means))}
	for i := range g.Cov {
		g.Cov[i] = variance
	}
	p := new(Prediction)
	if err := r.fill(t.Context(), g, Observation{NoiseVariance: r.NoiseVariance, Likelihood: r.likelihood()}, PredictOptions{}, p); err != nil {
		t.Fatal(err)
	}
	return r, p
}

// scoresOf returns the scores of predictions, and checks that batches do not change them.
func scoresOf(t *testing.T, r *Regression, p *Prediction, y []float64) Scores {
	t.Helper()
	s, err := Task{Outputs: r}.Score(p, tensor.New(tensor.WithShape(len(y)/len(r.Names), len(r.Names)), tensor.WithBacking(y)))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range s.List {
		if !(v.StandardError >= 0) || v.Help == "" {
			t.Errorf("score %+v, expected a standard error and help", v)
		}
	}
	return s
}

func get(t *testing.T, s Scores, name string) float64 {
	t.Helper()
	v, ok := s.Get(name)
	if !ok {
		t.Fatalf("no score %s in %+v", name, s)
	}
	return v
}

// TestLabelScores: labels have the scores of package metric for their probabilities, and neither AUC nor AP if all
// answers are no.
func TestLabelScores(t *testing.T) {
	r, p := modelled(t, "bernoulli", nil, []float64{-1, 0, 0.5, 2, -0.3, 1}, 0.4)
	y := []float64{0, 1, 0, 1, 0, 1}
	var b metric.Binary
	for i, v := range y {
		b.Add(p.Mean[i], v == 1)
	}
	want, err := b.Result()
	if err != nil {
		t.Fatal(err)
	}
	s := scoresOf(t, r, p, y)
	near(t, "Brier", get(t, s, "Brier"), want.Brier.Value, 1e-15)
	near(t, "AUC", get(t, s, "AUC"), want.AUC.Value, 1e-15)
	near(t, "AP", get(t, s, "AP"), want.AP.Value, 1e-15)
	if _, ok := s.Get("RMSE"); ok {
		t.Errorf("labels have an RMSE: %+v", s)
	}
	s = scoresOf(t, r, p, make([]float64, 6))
	if _, ok := s.Get("AUC"); ok || len(s.List) != 3 {
		t.Errorf("one class only: %+v", s.List)
	}
}

// TestOrderedScores compares the scores of ordered classes with sums over the classes.
func TestOrderedScores(t *testing.T) {
	r, p := modelled(t, "ordinal", []string{"classes=4"}, []float64{-2, -0.5, 0.4, 3}, 0.3)
	y := []float64{0, 2, 1, 3}
	rps, right := 0.0, 0.0
	for i, v := range y {
		d, best := p.Distribution(i, 0), 0.0
		for k := range 4 {
			f := d.CDF(float64(k))
			if float64(k) >= v {
				f--
			}
			rps += f * f / 4
			if d.LogDensity(float64(k)) > d.LogDensity(best) {
				best = float64(k)
			}
		}
		if best == v {
			right += 0.25
		}
	}
	s := scoresOf(t, r, p, y)
	near(t, "RPS", get(t, s, "RPS"), rps, 1e-9)
	near(t, "ACC", get(t, s, "ACC"), right, 0)
}

// TestExposureScores: a count with an exposure has the scores of a count whose logarithm of the mean is larger.
func TestExposureScores(t *testing.T) {
	r, p := modelled(t, "poisson", []string{"exposure"}, []float64{0.2, 1, -0.5}, 0.1)
	got := scoresOf(t, r, p, []float64{1, 2, 9, 2, 0, 2})
	up := math.Log(2)
	r, p = modelled(t, "poisson", nil, []float64{0.2 + up, 1 + up, -0.5 + up}, 0.1)
	want := scoresOf(t, r, p, []float64{1, 9, 0})
	for _, name := range []string{"NLL", "RMSE", "CRPS", "CQM", "deviance", "coverage_90", "interval_score_50", "pinball_2.5"} {
		near(t, name, get(t, got, name), get(t, want, name), 1e-9)
	}
}

// TestScaleScores: numbers whose scales are known and equal have the scores of a prediction with wider noise, in the
// units of the data.
func TestScaleScores(t *testing.T) {
	means, h := []float64{0.2, -1, 0.7}, 0.6
	r, p := modelled(t, "heteroscedastic", []string{"tails=gaussian"}, means, 0.3)
	y := []float64{3.5, h, 0, h, 7, h}
	s := scoresOf(t, r, p, y)
	var want metric.Regression
	for i, m := range means {
		if err := want.Add([]float64{3 + 2*m}, []float64{4 * (0.3 + r.NoiseVariance*math.Exp(2*h))}, []float64{y[2*i]}); err != nil {
			t.Fatal(err)
		}
	}
	w, _ := want.Result()
	near(t, "NLL", s.NLL(), w.NLL, 1e-9)
	near(t, "RMSE", get(t, s, "RMSE"), w.RMSE, 1e-12)
	near(t, "CRPS", get(t, s, "CRPS"), w.CRPS, 1e-7)
	near(t, "coverage", get(t, s, "coverage_50"), w.Held[0].Value, 1e-12)
	near(t, "interval score", get(t, s, "interval_score_90"), w.IntervalScore[1].Value, 1e-7)
}

// TestBoundScores: with right bounds the histogram of the PIT of censored values is even, and the coverage holds.
func TestBoundScores(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 3))
	means := make([]float64, 4000)
	for i := range means {
		means[i] = rng.NormFloat64()
	}
	r, p := modelled(t, "censored", nil, means, 0.5)
	var y []float64
	for i := range means {
		v := p.Distribution(i, 0).Draw(rng)
		if v > 4 {
			y = append(y, 4, likelihood.Open)
		} else {
			y = append(y, v, v)
		}
	}
	s := scoresOf(t, r, p, y)
	for _, share := range s.PIT[0] {
		near(t, "PIT", share, 0.1, 0.02)
	}
	near(t, "coverage", get(t, s, "coverage_90"), 0.9, 0.02)
	near(t, "CQM", get(t, s, "CQM"), 0, 0.02)
	if get(t, s, "CRPS"); s.List[1].Name == "RMSE" {
		t.Errorf("an RMSE of values that were not seen: %+v", s.List)
	}
}

// TestConformalScores: the coverages and interval scores are those of the conformal intervals, and left out where the
// calibration has too few rows.
func TestConformalScores(t *testing.T) {
	p := &Prediction{Targets: []string{"y"}, Mean: []float64{1, 3}, Variance: []float64{4, 16},
		Conformal: &calibrate.Conformal{Rows: 3, Scores: []float64{1, 2, 3}}}
	s := scoresOf(t, &Regression{Names: p.Targets, NoiseVariance: 1}, p, []float64{4.5, 12})
	near(t, "coverage", get(t, s, "coverage_50"), 0.5, 0)
	near(t, "interval score", get(t, s, "interval_score_50"), (8+16+4*(12-11))/2, 1e-12)
	if _, ok := s.Get("coverage_95"); ok {
		t.Errorf("coverage of intervals that three rows do not have: %+v", s.More)
	}
	text, err := json.Marshal(s.Details())
	if err != nil || !strings.Contains(string(text), `"standard_errors":{`) || !strings.Contains(string(text), `"pit":[`) {
		t.Errorf("document %s, error %v", text, err)
	}
}

// TestTransformedScaleScores: the RMSE of targets without a mean is the error of their medians, also where each target has
// the scale of its noise.
func TestTransformedScaleScores(t *testing.T) {
	for _, tails := range []string{"student-t", "gaussian"} {
		for _, h := range []float64{0.5, 3} {
			r, _ := modelled(t, "heteroscedastic", []string{"tails=" + tails}, []float64{0}, 1)
			r.Transforms = []Transform{{Name: Log}}
			p, by := new(Prediction), Observation{NoiseVariance: r.NoiseVariance, Likelihood: r.likelihood()}
			if err := r.fill(t.Context(), gp.Gaussian{Mean: []float64{0.2, -0.3}, Cov: []float64{0.1, 0.1}}, by, PredictOptions{}, p); err != nil {
				t.Fatal(err)
			}
			s, err := Task{Outputs: r}.Score(p, denseOf([]float64{20, h, 9, h}, 2, 2))
			if err != nil {
				t.Fatal(err)
			}
			square := 0.0
			for i, y := range []float64{20, 9} {
				d := p.Outcome(i, 0, []float64{y, h})
				middle := d.Quantile(0.5)
				if tails == "gaussian" && h < 1 {
					middle = d.Mean()
				}
				square += (y - middle) * (y - middle) / 2
			}
			near(t, tails, get(t, s, "RMSE"), math.Sqrt(square), 1e-12)
		}
	}
}

// TestSureModels: a model that is sure of a label, a class or no event, so that the variance is below all numbers, has
// predictions, scores and conformal scores that are finite.
func TestSureModels(t *testing.T) {
	for name, f := range map[string]float64{"bernoulli": 800, "ordinal": 800, "poisson": -800, "negative-binomial": -800} {
		for _, variance := range []float64{0, 1} {
			r, p := modelled(t, name, nil, []float64{f}, variance)
			y := math.Round(p.Mean[0])
			if s := p.Std()[0]; !(s > 0 && s < 1e-12) || p.Epistemic[0] < 0 || p.Aleatoric[0] < 0 {
				t.Errorf("%s, variance %g: standard deviation %g, parts %g and %g", name, variance, s, p.Epistemic[0], p.Aleatoric[0])
			}
			s, err := Task{Outputs: r}.Score(p, denseOf([]float64{y}, 1, 1))
			if err != nil || math.Abs(s.NLL()) > 1e-9 {
				t.Errorf("%s, variance %g: scores %+v, error %v", name, variance, s, err)
			}
			if c := calibrate.Numbers(p.Mean, p.Variance, []float64{y}, 1); c.Check(1) != nil {
				t.Errorf("%s, variance %g: conformal scores %g", name, variance, c.Scores)
			}
		}
	}
}

// TestFarCounts: counts far from the training rows, whose mean or variance is beyond all numbers, have quantiles, and scores that are
// no NaN.
func TestFarCounts(t *testing.T) {
	ones := slices.Repeat([]float64{1}, 100)
	scores := calibrate.Numbers(make([]float64, 100), ones, ones, 1)
	for _, name := range []string{"poisson", "negative-binomial"} {
		for _, variance := range []float64{0, 1, 800} {
			r, p := modelled(t, name, nil, []float64{0.5, 360, 1000, -500}, variance)
			what := fmt.Sprintf("%s, variance %g", name, variance)
			if v := slices.Concat(p.Mean, p.Std(), p.EpistemicStd(), p.AleatoricStd()); !(slices.Min(v) >= 0) || !math.IsInf(p.Mean[2]+p.Std()[2], 1) {
				t.Errorf("%s: moments %g, want no NaN, and +Inf for row 2", what, v)
			}
			lower, upper, err := p.Interval(0.95)
			if err != nil || !(slices.Min(lower) >= 0) || !kernel.Finite(slices.Max(upper)) {
				t.Errorf("%s: intervals from %g to %g, error %v", what, lower, upper, err)
			}
			s, err := Task{Outputs: r}.Score(p, denseOf([]float64{1, 0, 3, 7}, 4, 1))
			if _, ok := s.Get("deviance"); err != nil || !ok {
				t.Errorf("%s: scores %+v, error %v", what, s, err)
			}
			for _, v := range slices.Concat(s.List, s.More) {
				if math.IsNaN(v.Value) {
					t.Errorf("%s: %s is NaN", what, v.Name)
				}
			}
			p.Conformal = scores
			if lower, upper, err = p.Interval(0.9); err != nil || !math.IsInf(lower[2], -1) || !math.IsInf(upper[2], 1) {
				t.Errorf("%s: conformal intervals from %g to %g, error %v", what, lower, upper, err)
			}
		}
	}
}
