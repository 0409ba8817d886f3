package valla

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/small"
	"gorgonia.org/tensor"
)

// TestSampleCounts: examples that stand for three rows each give the posterior of a set that has each of them three times, by natural
// gradients and by Adam, and one that is not that of the examples alone.
func TestSampleCounts(t *testing.T) {
	for _, classes := range []bool{false, true} {
		p := newProblem(t, tensor.Float64, 2, classes)
		n := p.Train.N()
		for _, optimizer := range []string{optimizerNatural, optimizerAdam} {
			t.Run(fmt.Sprint(optimizer, " classes ", classes), func(t *testing.T) {
				variances := func(p gp.Problem) []float64 {
					s := &Settings{Inducing: 4, Init: "greedy", Optimizer: optimizer, Iterations: 20, BatchSize: 3 * n, LearningRate: 0.01}
					f := small.Fit(t, s, p, gp.Run{})
					g := small.Predict(t, f.Posterior, p.Train.Rows([]int{0, 1, 2}).X)
					return append(slices.Clone(g.Cov), f.NoiseVariance)
				}
				alone := variances(p)
				times := p
				times.More = 2 * n
				sample := variances(times)
				thrice := p
				thrice.Train = p.Train.Rows(slices.Repeat(dense.Indices(n), 3))
				want := variances(thrice)
				far := 0.0
				for i, v := range want {
					if math.Abs(sample[i]-v) > 1e-6*math.Abs(v) {
						t.Errorf("number %d: %.9g of a sample, %.9g of all rows", i, sample[i], v)
					}
					far = max(far, math.Abs(alone[i]-v)/math.Abs(v))
				}
				if far < 0.01 {
					t.Errorf("the sample alone gives the same, within %.2g", far)
				}
			})
		}
	}
}

// TestDrawsOfSample: the weights of mini-batches sum up to all rows of which the examples are a sample.
func TestDrawsOfSample(t *testing.T) {
	one, err := newDraws([]float64{1, 5, 2, 0}, 1, 2, 7)
	if err != nil {
		t.Fatal(err)
	}
	five, err := newDraws([]float64{1, 5, 2, 0}, 5, 2, 7)
	if err != nil {
		t.Fatal(err)
	}
	for it := range 9 {
		one.load(it)
		five.load(it)
		for i, w := range one.weights {
			if five.rows[i] != one.rows[i] || math.Abs(five.weights[i]-5*w) > 1e-14*w {
				t.Errorf("row %d counts %g, want row %d with %g", five.rows[i], five.weights[i], one.rows[i], 5*w)
			}
		}
	}
}
