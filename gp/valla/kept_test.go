package valla

import (
	"math"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/small"
	"gorgonia.org/tensor"
)

// TestKeepsWhatItHasCompared: the posterior that a fit by natural gradients keeps has the negative log-likelihood of the
// held-out rows that was the least of all looks, whether the ladder moves afterwards or not.
func TestKeepsWhatItHasCompared(t *testing.T) {
	for _, outputs := range []int{1, 2} {
		classes := outputs > 1
		p := newProblem(t, tensor.Float64, outputs, classes)
		for seed := range uint64(6) {
			f := fit(t, Settings{Inducing: 6, Iterations: 20, ValidateEvery: 2, LearningRate: 0.1}, p, gp.Run{Seed: seed})
			g := small.Predict(t, f.Posterior, p.Validation.X)
			r := f.Record.Result
			if got := gp.MeanNLL(likelihood.WithNoise(p.Likelihood, f.NoiseVariance), graph.Floats(p.Validation.Y), g); math.Abs(got-r.BestValue) > 1e-9 {
				t.Errorf("classes %v, seed %d: step %d was kept for %.6f, has %.6f", classes, seed, r.BestIteration, r.BestValue, got)
			}
		}
	}
}
