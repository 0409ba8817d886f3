package valla

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
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

// TestDrawsOfFew: a fit of few mini-batches draws from some of the examples, others with each seed, and their weights sum up to all rows.
func TestDrawsOfFew(t *testing.T) {
	const rows, size, batches, each, seeds, loads = 30, 2, 3, 5.0, 60, 4000
	const some = scoredShare * size * batches
	n := naturalToy(t, likelihood.Softmax{}, 1)
	rng := rand.New(rand.NewPCG(3, 3))
	e := gp.Examples{X: small.Normal(rng, tensor.Float64, rows, 2), Y: tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(rows, 3))}
	for i := range rows {
		e.Y.Float64s()[3*i+i%3] = 1
	}
	seen := make([]int, rows)
	for seed := range seeds {
		n.r.Seed = uint64(seed)
		d, err := n.drawn(t.Context(), e, each, size, scored(rows, size, batches))
		if err != nil {
			t.Fatal(err)
		}
		if len(d.from) != some || d.n != some || !slices.IsSorted(d.from) {
			t.Fatalf("examples %v of %d, expected %d in order", d.from, d.n, some)
		}
		for _, r := range d.from {
			seen[r]++
		}
		if seed > 0 {
			continue
		}
		sum := 0.0
		for it := range loads {
			d.load(it)
			for i, r := range d.rows {
				if sum += d.weights[i] / loads; !slices.Contains(d.from, r) {
					t.Fatalf("example %d is not among %v", r, d.from)
				}
			}
		}
		if math.Abs(sum-rows*each) > 0.02*rows*each {
			t.Errorf("weights sum up to %g, expected about %g", sum, rows*each)
		}
	}
	for r, v := range seen {
		if share := float64(v) / seeds; math.Abs(share-float64(some)/rows) > 0.26 { // five standard errors
			t.Errorf("example %d is among %.2f of the draws, expected about %.2f", r, share, float64(some)/rows)
		}
	}
	if d, err := n.drawn(t.Context(), e, each, size, scored(rows, size, rows)); err != nil || d.from != nil || d.n != rows {
		t.Errorf("many mini-batches: %+v, %v, expected all examples", d, err)
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
