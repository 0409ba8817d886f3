package gp

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"
)

// latents are n random Gaussians over c outputs, with variances of 1 to 2.
func latents(n, c int) Gaussian {
	rng := rand.New(rand.NewPCG(1, 1))
	g := Gaussian{
		Mean: tensor.New(tensor.WithShape(n, c), tensor.Of(tensor.Float64)),
		Cov:  tensor.New(tensor.WithShape(n, c, c), tensor.Of(tensor.Float64)),
	}
	for i := range n * c {
		g.Mean.Float64s()[i] = rng.NormFloat64()
		g.Cov.Float64s()[i*c+i%c] = 1 + rng.Float64()
	}
	return g
}

// TestSampledProbs: examples that are sampled in parts, by several workers, have the
// probabilities that they have when they are sampled together.
func TestSampledProbs(t *testing.T) {
	for _, n := range []int{1, sampledAtOnce, 7*sampledAtOnce/2 + 1} {
		g := latents(n, 3)
		want, err := MonteCarloProbs(g, 50, 7, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := SampledProbs(t.Context(), g, 50, 7, 0)
		if err != nil || !slices.Equal(got.Float64s(), want.Float64s()) {
			t.Errorf("%d examples: in parts the probabilities differ; error %v", n, err)
		}
	}
}

// TestSampledProbsErrors: the end of the context and a matrix that is no covariance are errors.
func TestSampledProbsErrors(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	g := latents(3*sampledAtOnce, 2)
	if _, err := SampledProbs(ended, g, 5, 0, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the end of the context", err)
	}
	row := 2*sampledAtOnce + 3
	g.Cov.Float64s()[row*4] = -1
	if _, err := SampledProbs(t.Context(), g, 5, 0, 0); err == nil || !strings.Contains(err.Error(), "covariance of example 203") {
		t.Errorf("error %v, want one that names example %d", err, row)
	}
}
