package valla

import (
	"slices"
	"sync"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp/laplace"
)

// rowOf returns the prediction for row i of p.
func rowOf(p *Prediction, i int) *Prediction {
	part := func(v []float64) []float64 {
		width := len(v) / p.N()
		return v[i*width : (i+1)*width]
	}
	q := *p
	q.Mean, q.Variance, q.Latent = part(p.Mean), part(p.Variance), part(p.Latent)
	q.Epistemic, q.Aleatoric, q.Probs = part(p.Epistemic), part(p.Aleatoric), part(p.Probs)
	return &q
}

// rowsOf returns the n rows of x from the first on.
func rowsOf(x *tensor.Dense, first, n int) *tensor.Dense {
	return denseOf(slices.Clone(x.Float64s()[2*first:2*(first+n)]), n, 2)
}

// TestRowBits: for every posterior, the prediction for a row has the same bits alone and in a batch of any size
// at any place in the batch.
func TestRowBits(t *testing.T) {
	const rows = 70
	x := wave(rows, 11).X
	for name, m := range everyPredictor(t) {
		whole := predict(t, m, x)
		for _, n := range []int{1, 2, 3, 7, 8, 9, 33, 64} {
			for first := 0; first+n <= rows; first += max(n, 5) {
				part := predict(t, m, rowsOf(x, first, n))
				for i := range n {
					if err := nearPrediction(rowOf(part, i), rowOf(whole, first+i), 0); err != nil {
						t.Fatalf("%s: row %d in a batch of %d: %v", name, first+i, n, err)
					}
				}
			}
		}
	}
}

// TestModelThreads: 16 goroutines that call Predict of one model at the same time get the same bits as one
// goroutine alone.
func TestModelThreads(t *testing.T) {
	x, models := wave(60, 12).X, everyPredictor(t)
	for _, name := range []string{"MAP", "VaLLA 5", "classes, VaLLA", "VaLLA, float32", "ELLA"} {
		m := models[name]
		if m == nil {
			t.Fatalf("no model %q", name)
		}
		want := predict(t, m, x)
		c := *m // has no engine yet, so that the goroutines race for one
		c.predictions = nil
		var work sync.WaitGroup
		for k := range 16 {
			work.Go(func() {
				for n := 1 + k; n <= 60; n += 17 {
					got, err := c.Predict(t.Context(), rowsOf(x, 60-n, n), PredictOptions{})
					if err != nil {
						t.Error(err)
						return
					}
					for i := range n {
						if err := nearPrediction(rowOf(got, i), rowOf(want, 60-n+i), 0); err != nil {
							t.Errorf("%s: row %d of %d: %v", name, i, n, err)
							return
						}
					}
				}
			})
		}
		work.Wait()
	}
}

// TestEngineSeesChanges: a model keeps the engine of its predictions, and makes a new engine when the posterior or
// the calibration changes.
func TestEngineSeesChanges(t *testing.T) {
	m, set := newTestModel(t, tensor.Float64, 0, 3), wave(40, 3)
	narrow := fit(t, m, set, FitOptions{Settings: &laplace.Settings{Hyper: "fixed", PriorStd: 0.1}})
	wide := fit(t, m, set, FitOptions{Settings: &laplace.Settings{Hyper: "fixed", PriorStd: 10}})
	x := wave(9, 4).X
	first := predict(t, narrow, x)
	kept := narrow.predictions
	if again := predict(t, narrow, x); nearPrediction(again, first, 0) != nil || kept == nil || narrow.predictions != kept {
		t.Fatal("the second prediction differs from the first, or has an engine of its own")
	}

	changed := *narrow
	changed.Posterior = wide.Posterior
	if err := nearPrediction(predict(t, &changed, x), predict(t, wide, x), 0); err != nil {
		t.Errorf("another posterior: %v", err)
	}
	changed.Posterior = nil
	if err := nearPrediction(predict(t, &changed, x), predict(t, m, x), 0); err != nil || slices.Max(predict(t, &changed, x).Latent) != 0 {
		t.Errorf("no posterior: %v", err)
	}

	changed = *narrow
	changed.Calibration = &Calibration{Temperature: 3}
	hot := predict(t, &changed, x)
	for i, v := range hot.Variance {
		near(t, "variance at the temperature 3", v, 9*first.Variance[i], 1e-12)
	}
	changed.Calibration.Temperature = 2 // in place
	for i, v := range predict(t, &changed, x).Variance {
		near(t, "variance at the temperature 2", v, 4*first.Variance[i], 1e-12)
	}
	changed.Calibration = nil
	if err := nearPrediction(predict(t, &changed, x), first, 0); err != nil {
		t.Errorf("no calibration: %v", err)
	}
	if narrow.predictions != kept {
		t.Error("changes of a copy have changed the model")
	}
}
