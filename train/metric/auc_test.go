package metric

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/integrate"
	"gonum.org/v1/gonum/stat"
)

func TestAUCByHand(t *testing.T) {
	for _, c := range []struct {
		scores   []float64
		positive []bool
		want     float64
	}{
		{[]float64{1, 2, 3, 4}, []bool{false, false, true, true}, 1},
		{[]float64{4, 3, 2, 1}, []bool{false, false, true, true}, 0},
		{[]float64{7, 7, 7}, []bool{false, true, true}, 0.5},
		// Pairs of (positive 2, 3) × (negative 1, 2): 2>1, 2=2, 3>1, 3>2 = 3.5 of 4.
		{[]float64{3, 2, 1, 2}, []bool{true, true, false, false}, 0.875},
		{[]float64{math.Inf(1), math.Inf(-1)}, []bool{true, false}, 1},
	} {
		got, err := AUC(c.scores, c.positive)
		if err != nil || got != c.want {
			t.Errorf("AUC(%v, %v) = %v, %v, want %v", c.scores, c.positive, got, err, c.want)
		}
	}
}

func TestAUCAgainstPairsAndGonum(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		scores, positive := []float64{0, 3}, []bool{false, true}
		for range rng.IntN(60) {
			p := rng.IntN(2) == 0
			s := float64(rng.IntN(8)) // few values: many ties
			if p {
				s++
			}
			scores, positive = append(scores, s), append(positive, p)
		}
		got, err := AUC(scores, positive)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "AUC against all pairs", got, aucOfPairs(scores, positive), 1e-14)
		near(t, "AUC against gonum", got, aucOfGonum(scores, positive), 1e-13)
	}
}

func aucOfPairs(scores []float64, positive []bool) float64 {
	var sum, pairs float64
	for i := range scores {
		for j := range scores {
			if !positive[i] || positive[j] {
				continue
			}
			pairs++
			switch {
			case scores[i] > scores[j]:
				sum++
			case scores[i] == scores[j]:
				sum += 0.5
			}
		}
	}
	return sum / pairs
}

func aucOfGonum(scores []float64, positive []bool) float64 {
	s, p := slices.Clone(scores), slices.Clone(positive)
	stat.SortWeightedLabeled(s, p, nil)
	tpr, fpr, _ := stat.ROC(nil, s, p, nil)
	return integrate.Trapezoidal(fpr, tpr)
}

func TestOODAUC(t *testing.T) {
	got, err := OODAUC([]float64{1, 2}, []float64{2, 3, 0})
	// Pairs out > in: 2>1, 2=2, 3>1, 3>2, and 0 above none: 3.5 of 6.
	if err != nil || got != 3.5/6 {
		t.Errorf("OODAUC = %v, %v, want 3.5/6", got, err)
	}
}

func TestAUCRefuses(t *testing.T) {
	for _, c := range []struct {
		scores   []float64
		positive []bool
		want     string
	}{
		{[]float64{1, math.NaN()}, []bool{true, false}, "score[1] is NaN"},
		{[]float64{1, 2}, []bool{true}, "2 scores and 1 labels"},
		{[]float64{1, 2}, []bool{true, true}, "2 positives and 0 negatives"},
		{[]float64{1, 2}, []bool{false, false}, "0 positives and 2 negatives"},
		{nil, nil, "0 positives and 0 negatives"},
	} {
		_, err := AUC(c.scores, c.positive)
		if !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}
