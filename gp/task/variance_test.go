package task_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/task"
)

func gaussian(_ int, mean, cov []float64) gp.Gaussian {
	return gp.Gaussian{
		Mean: mean,
		Cov:  cov,
	}
}

var (
	number  = &task.Regression{Names: []string{"y"}, Mean: []float64{10}, Std: []float64{2}, NoiseVariance: 1}
	classes = &task.Classification{Name: "y", Classes: []float64{0, 1}}
	links   = []task.PredictOptions{{}, {Link: task.MonteCarlo, Samples: 10}}
)

// A variance that rounding has made negative is 0, for numbers and classes and by both
// links; one that is further below 0 is an error that names the row.
func TestNegativeVariances(t *testing.T) {
	const noise = 0.04
	cov := []float64{0.5, -3e-8, 0.1}
	p, err := predicted(t.Context(), number, gaussian(1, []float64{1, 2, 3}, cov), noise, task.PredictOptions{})
	if err != nil || !slices.Equal(p.Latent, []float64{2, 0, 0.4}) || p.Variance[1] != 4*noise || cov[1] != -3e-8 {
		t.Errorf("prediction %+v, error %v; the covariance became %v", p, err, cov)
	}
	_, err = predicted(t.Context(), number, gaussian(1, []float64{1, 2, 3}, []float64{0.5, -3e-7, 0.1}), noise, task.PredictOptions{})
	if err == nil || !strings.Contains(err.Error(), "row 1 (counting from 0): a latent variance of -3e-07") {
		t.Errorf("error %v", err)
	}
	for _, o := range links {
		good, clipped := []float64{1, 0.2, 0.2, 1, 1, 0, 0, 0}, []float64{1, 0.2, 0.2, 1, 1, 1e-9, 1e-9, -1e-6}
		a, err := predicted(t.Context(), classes, gaussian(2, []float64{1, 2, 0, 1}, good), 0, o)
		if err != nil {
			t.Fatal(err)
		}
		b, err := predicted(t.Context(), classes, gaussian(2, []float64{1, 2, 0, 1}, clipped), 0, o)
		if err != nil || !slices.Equal(a.Probs, b.Probs) {
			t.Errorf("%v: probabilities %v, want %v, error %v", o, b, a, err)
		}
		for what, bad := range map[string][]float64{
			"row 1 (counting from 0): a latent variance of -0.001":                  {1, 0, 0, 1, 1, 0, 0, -1e-3},
			"row 0 (counting from 0): the covariance of outputs 0 and 1 is NaN":     {1, math.NaN(), 0, 1, 1, 0, 0, 1},
			"row 1 (counting from 0): the covariance of outputs 1 and 1 is +Inf, e": {1, 0, 0, 1, 1, 0, 0, math.Inf(1)},
		} {
			if _, err := predicted(t.Context(), classes, gaussian(2, []float64{1, 2, 0, 1}, bad), 0, o); err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%v: error %v, want %q in it", o, err, what)
			}
		}
	}
}

// The two parts of the variance add up, and neither is below 0. Without parts of its own a
// posterior's variance is all epistemic.
func TestParts(t *testing.T) {
	const noise = 0.5
	g := gaussian(1, []float64{1, 2, 3, 4}, []float64{1, 2, 3, 0.1})
	whole, err := predicted(t.Context(), number, g, noise, task.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	g.Epistemic = []float64{0.5, 0.25, 1, 0}
	parts, err := predicted(t.Context(), number, g, noise, task.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(whole.Epistemic, whole.Latent) || !slices.Equal(whole.Aleatoric, []float64{2, 2, 2, 2}) {
		t.Errorf("without parts: epistemic %v, aleatoric %v", whole.Epistemic, whole.Aleatoric)
	}
	if !slices.Equal(parts.Epistemic, []float64{3, 2.5, 14, 0}) || !slices.Equal(parts.Aleatoric, []float64{3, 7.5, 0, 2.4}) {
		t.Errorf("epistemic %v, aleatoric %v", parts.Epistemic, parts.Aleatoric)
	}
	for i, v := range parts.Variance {
		if math.Abs(parts.Epistemic[i]+parts.Aleatoric[i]-v) > 1e-14*v || v != whole.Variance[i] {
			t.Errorf("row %d: %g and %g do not add up to %g", i, parts.Epistemic[i], parts.Aleatoric[i], v)
		}
	}
}

// predicted returns what Fill makes of a distribution.
func predicted(ctx context.Context, o task.Outputs, g gp.Gaussian, noise float64, opts task.PredictOptions) (*task.Prediction, error) {
	p := new(task.Prediction)
	if err := (task.Task{Outputs: o}).Fill(ctx, g, task.Observation{NoiseVariance: noise}, opts, p); err != nil {
		return nil, err
	}
	return p, nil
}
