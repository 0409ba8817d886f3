package valla

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// TestExpectedImprovement: the formula is the mean over draws, and without a variance the improvement itself.
func TestExpectedImprovement(t *testing.T) {
	p := &Prediction{Targets: []string{"y"}, Mean: []float64{1, 3, 0.5, 5, 0}, Epistemic: []float64{4, 0.25, 1, 0, 0}}
	rng := rand.New(rand.NewPCG(1, 2))
	const draws = 200_000
	for _, minimise := range []bool{false, true} {
		got, err := ExpectedImprovement(p, 2, minimise)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			mean, square := 0.0, 0.0
			for range draws {
				gain := p.Mean[i] + math.Sqrt(p.Epistemic[i])*rng.NormFloat64() - 2
				if minimise {
					gain = -gain
				}
				mean += max(gain, 0) / draws
				square += max(gain, 0) * max(gain, 0) / draws
			}
			if se := math.Sqrt((square - mean*mean) / draws); math.Abs(v-mean) > 5*se+1e-9 {
				t.Errorf("row %d, minimise %v: %g, expected %g ± %g", i, minimise, v, mean, se)
			}
		}
	}
	far := &Prediction{Targets: []string{"y"}, Mean: []float64{-100}, Epistemic: []float64{1}}
	if got, err := ExpectedImprovement(far, 0, false); err != nil || got[0] != 0 {
		t.Errorf("%v far below the best value, error %v", got, err)
	}
}

// TestConfidenceBound: the bound is the mean and some standard deviations.
func TestConfidenceBound(t *testing.T) {
	p := &Prediction{Targets: []string{"y"}, Mean: []float64{1, 3}, Epistemic: []float64{4, 0}}
	got, err := ConfidenceBound(p, -1.5)
	if err != nil || got[0] != -2 || got[1] != 3 {
		t.Errorf("%v, error %v", got, err)
	}
}

// TestImprovementErrors: classes, several targets, a network alone without a best value.
func TestImprovementErrors(t *testing.T) {
	one := &Prediction{Targets: []string{"y"}, Mean: []float64{1}, Epistemic: []float64{1}}
	for _, p := range []*Prediction{{}, {Classes: []float64{0, 1}, Probs: []float64{0.5, 0.5}}, {Targets: []string{"y", "z"}, Mean: []float64{1, 2}, Epistemic: []float64{1, 1}}, {Targets: []string{"y"}, Mean: []float64{1}}} {
		_, err := ExpectedImprovement(p, 0, false)
		_, other := ConfidenceBound(p, 2)
		if !errors.Is(err, ErrSetting) || !errors.Is(other, ErrSetting) {
			t.Errorf("%+v: errors %v, %v", p, err, other)
		}
	}
	if _, err := ExpectedImprovement(one, math.NaN(), false); !errors.Is(err, ErrSetting) {
		t.Error(err)
	}
	if _, err := ConfidenceBound(one, math.Inf(1)); !errors.Is(err, ErrSetting) {
		t.Error(err)
	}
}
