package valla

import (
	"math"
	"slices"
	"testing"
)

// TestDraws: mini-batches estimate sums without bias, whatever the scores; a batch is a
// function of seed and iteration; no weight exceeds N/(B·evenShare).
func TestDraws(t *testing.T) {
	const n, size, rounds = 40, 8, 20000
	for what, score := range map[string]func(i int) float64{
		"even": func(int) float64 { return 3 },
		"none": func(int) float64 { return 0 },
		"one":  func(i int) float64 { return float64(max(0, i-38)) },
		"many": func(i int) float64 { return float64(i * i) },
	} {
		scores := make([]float64, n)
		for i := range scores {
			scores[i] = score(i)
		}
		d, err := newDraws(scores, 1, size, 5)
		if err != nil {
			t.Fatal(err)
		}
		sums := make([]float64, n)
		for it := range rounds {
			d.load(it)
			for k, r := range d.rows {
				sums[r] += d.weights[k] / rounds
				if d.weights[k] > n/(size*evenShare)*1.0001 {
					t.Fatalf("%s: weight %g", what, d.weights[k])
				}
			}
		}
		for i, s := range sums { // at least size·evenShare/N draws a batch: five standard errors
			if tol := 5 * math.Sqrt(n/(size*evenShare*rounds)); math.Abs(s-1) > tol {
				t.Errorf("%s: example %d counts %.4f times, want 1 within %.4f", what, i, s, tol)
			}
		}
		d.load(3)
		third := slices.Clone(d.rows)
		d.load(4)
		if d.load(3); !slices.Equal(d.rows, third) {
			t.Errorf("%s: mini-batch 3 is %v, before it was %v", what, d.rows, third)
		}
	}
}

// TestDrawsOfAll: a mini-batch of all examples holds each once, with weight 1.
func TestDrawsOfAll(t *testing.T) {
	d, err := newDraws([]float64{5, 0, 1}, 1, 7, 1)
	if err != nil {
		t.Fatal(err)
	}
	d.load(9)
	if !slices.Equal(d.rows, []int{0, 1, 2}) || !slices.Equal(d.weights, []float64{1, 1, 1}) {
		t.Errorf("rows %v, weights %v", d.rows, d.weights)
	}
}

func TestDrawsErrors(t *testing.T) {
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
		if _, err := newDraws([]float64{1, bad, 1}, 1, 2, 1); err == nil {
			t.Errorf("score %v: no error", bad)
		}
	}
}
