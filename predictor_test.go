package valla

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/ella"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/internal/holdout"
)

// near compares all numbers of two predictions, relative to the largest of each kind.
func nearPrediction(got, want *Prediction, tol float64) error {
	for name, v := range map[string][2][]float64{
		"mean": {got.Mean, want.Mean}, "variance": {got.Variance, want.Variance}, "latent": {got.Latent, want.Latent},
		"epistemic": {got.Epistemic, want.Epistemic}, "aleatoric": {got.Aleatoric, want.Aleatoric}, "probs": {got.Probs, want.Probs},
	} {
		if len(v[0]) != len(v[1]) {
			return fmt.Errorf("%s: %d numbers, expected %d", name, len(v[0]), len(v[1]))
		}
		top := 0.0
		for _, x := range v[1] {
			top = max(top, math.Abs(x))
		}
		for i, x := range v[1] {
			if !(math.Abs(v[0][i]-x) <= tol*top) {
				return fmt.Errorf("%s %d is %g, expected %g", name, i, v[0][i], x)
			}
		}
	}
	if got.Link != want.Link || !slices.Equal(got.Classes, want.Classes) || !slices.Equal(got.Targets, want.Targets) {
		return fmt.Errorf("targets, classes and link are %q, %v and %s", got.Targets, got.Classes, got.Link)
	}
	return nil
}

// everyPredictor are the models of everyPosterior, and some others.
func everyPredictor(t testing.TB) map[string]*Model {
	all := everyPosterior(t)
	all["ELLA"] = fit(t, newTestModel(t, tensor.Float64, 0, 3), wave(40, 3), FitOptions{Settings: &ella.Settings{Points: 20, Rank: 5}})
	all["VaLLA, float32"] = fit(t, newTestModel(t, tensor.Float32, 0, 3), wave(40, 3), FitOptions{Settings: &vallagp.Settings{Inducing: 5, Iterations: 3}})
	all["classes, float32"] = fit(t, newTestClasses(t, tensor.Float32, 3), thirds(40, 3), FitOptions{Settings: &vallagp.Settings{Inducing: 5, Iterations: 3}})
	return all
}

// TestPredictor: a predictor predicts what the model predicts, bit for bit, for few rows and for many, in
// batches of any size, also into slices that were used before.
func TestPredictor(t *testing.T) {
	for name, m := range everyPredictor(t) {
		p, err := m.Predictor(PredictorOptions{Sizes: []int{16, 4, 1}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got Prediction
		for _, n := range []int{100, 1, 2, 3, 4, 5, 16, 17, 38} {
			x := wave(n, uint64(n)).X
			want, err := m.Predict(t.Context(), x, PredictOptions{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := p.Predict(t.Context(), x.Float64s(), &got); err != nil {
				t.Fatalf("%s, %d rows: %v", name, n, err)
			}
			if err := nearPrediction(&got, want, 0); err != nil {
				t.Errorf("%s, %d rows: %v", name, n, err)
			}
		}
		latent, err := m.Latent(t.Context(), wave(7, 1).X)
		if err != nil {
			t.Fatal(err)
		}
		var g gp.Gaussian
		if err := p.Latent(t.Context(), wave(7, 1).X.Float64s(), &g); err != nil || !slices.Equal(g.Mean, latent.Mean) || !slices.Equal(g.Cov, latent.Cov) {
			t.Errorf("%s: latents %v, error %v", name, g.Mean, err)
		}
	}
}

// TestPredictorThreads: many goroutines get the same bits as one, whatever they ask for at
// the same time. Each asks for 100 rows, or as many as VALLA_ROWS says.
func TestPredictorThreads(t *testing.T) {
	most := 100
	if text := os.Getenv("VALLA_ROWS"); text != "" {
		var err error
		if most, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	models := everyPredictor(t)
	for _, name := range []string{"VaLLA 5", "classes, VaLLA", "LLA kfac, priors", "LLA full, function space", "VaLLA, float32", "MAP", "ELLA"} {
		m := models[name]
		p, err := m.Predictor(PredictorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		x := wave(200, 1).X.Float64s()
		rows := func(rng *rand.Rand) []float64 {
			n := 1 + rng.IntN(20)
			first := rng.IntN(200 - n)
			return x[2*first : 2*(first+n)]
		}
		var alone [64]Prediction
		for i := range alone {
			if err := p.Predict(t.Context(), rows(holdout.Rand(uint64(i), 0)), &alone[i]); err != nil {
				t.Fatal(err)
			}
		}
		var work sync.WaitGroup
		for i := range alone {
			work.Go(func() {
				rng := holdout.Rand(uint64(i), 1)
				for n := 0; n < most; {
					k := rng.IntN(len(alone))
					own := rows(holdout.Rand(uint64(k), 0))
					var got Prediction
					if err := p.Predict(t.Context(), own, &got); err != nil {
						t.Error(err)
					} else if err := nearPrediction(&got, &alone[k], 0); err != nil {
						t.Errorf("%s: %v", name, err)
					}
					n += len(own) / 2
				}
			})
		}
		work.Wait()
	}
}

// TestPredictorAllocations: predictions of a row allocate nothing.
func TestPredictorAllocations(t *testing.T) {
	for name, m := range everyPredictor(t) {
		p, err := m.Predictor(PredictorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var out Prediction
		x, ctx := []float64{0.5, 120}, t.Context()
		if n := testing.AllocsPerRun(100, func() { err = p.Predict(ctx, x, &out) }); n > 0 || err != nil {
			t.Errorf("%s: %g allocations, error %v", name, n, err)
		}
	}
}

// TestPredictorErrors: each is one line that names what is wrong.
func TestPredictorErrors(t *testing.T) {
	m := newTestModel(t, tensor.Float64, 5, 4)
	for want, o := range map[string]PredictorOptions{
		"sizes [0 3], expected positive numbers": {Sizes: []int{0, 3}},
		"sizes []":                               {Sizes: []int{}},
		"a prediction of 1 examples needs":       {Memory: 1},
	} {
		_, err := m.Predictor(o)
		oneLine(t, err, want)
	}
	p, err := m.Predictor(PredictorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out Prediction
	for want, x := range map[string][]float64{
		"predict: 3 numbers into 3, expected a multiple of 2": {1, 2, 3},
		"predict: 0 numbers": {},
		`predict: row 1 (counting from 0), feature "b": expected a finite number, found NaN`: {1, 2, 3, math.NaN()},
	} {
		oneLine(t, p.Predict(t.Context(), x, &out), want)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Predict(ended, []float64{1, 2}, &out); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the end of the context", err)
	}
	if p, err = m.Predictor(PredictorOptions{PredictOptions: PredictOptions{Link: "logit"}}); err != nil {
		t.Fatal(err)
	}
	oneLine(t, p.Predict(t.Context(), []float64{1, 2}, &out), "predict: ", `link "logit" of predictions without classes`)
}
