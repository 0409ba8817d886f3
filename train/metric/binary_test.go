package metric

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// precisionOfPairs is the average precision by its definition.
func precisionOfPairs(scores []float64, positive []bool) float64 {
	var sum, positives float64
	for i, p := range positive {
		if !p {
			continue
		}
		var above, right float64
		for j := range scores {
			if scores[j] >= scores[i] {
				above++
				right += step(positive[j])
			}
		}
		sum, positives = sum+right/above, positives+1
	}
	return sum / positives
}

// ties returns probabilities with many ties, and answers, at least two of each kind.
func ties(rng *rand.Rand, n int) (scores []float64, positive []bool) {
	scores, positive = []float64{0.2, 0.4, 0.4, 0.6}, []bool{false, true, false, true}
	for range n {
		s := float64(rng.IntN(6)) / 5
		scores, positive = append(scores, s), append(positive, rng.Float64() < 0.2+0.5*s)
	}
	return scores, positive
}

// TestAveragePrecision compares value and standard error with definitions that leave out each example in turn.
func TestAveragePrecision(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 7))
	for range 30 {
		scores, positive := ties(rng, rng.IntN(40))
		got, err := AveragePrecision(scores, positive)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "average precision", got.Value, precisionOfPairs(scores, positive), 1e-14)
		var without []float64
		for i := range scores {
			without = append(without, precisionOfPairs(slices.Concat(scores[:i], scores[i+1:]), slices.Concat(positive[:i], positive[i+1:])))
		}
		n := float64(len(without))
		near(t, "jackknife", got.StandardError, (n-1)*math.Sqrt(stat.Variance(without, nil)/n), 1e-10)
	}
	if _, err := AveragePrecision([]float64{1, 2}, []bool{false, false}); err == nil {
		t.Error("no positives: no error")
	}
	if e, err := AveragePrecision([]float64{1, 2}, []bool{true, false}); err != nil || e.Value != 0.5 || !math.IsNaN(e.StandardError) {
		t.Errorf("one positive: %+v, %v", e, err)
	}
}

// TestAUCError compares the standard error with the scatter of the AUC over many samples.
func TestAUCError(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	var values, errors []float64
	for range 300 {
		scores, positive := ties(rng, 150)
		e, err := AUCEstimate(scores, positive)
		if err != nil {
			t.Fatal(err)
		}
		values, errors = append(values, e.Value), append(errors, e.StandardError)
	}
	_, sd := stat.MeanStdDev(values, nil)
	if ratio := stat.Mean(errors, nil) / sd; ratio < 0.85 || ratio > 1.15 {
		t.Errorf("the standard error is %.2f times the scatter", ratio)
	}
}

// TestBinary compares the scores with sums, and has neither AUC nor average precision where all answers are no.
func TestBinary(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	scores, yes := ties(rng, 50)
	var b, c Binary
	var brier Mean
	share, sum, count := map[float64]float64{}, map[float64]float64{}, 0.0
	for i, p := range scores {
		b.Add(p, yes[i])
		c.Add(p, false)
		brier.Add((p - step(yes[i])) * (p - step(yes[i])))
		share[p], sum[p], count = share[p]+step(yes[i]), sum[p]+p, count+1
	}
	got, err := b.Result()
	if err != nil {
		t.Fatal(err)
	}
	ece := 0.0 // each probability has a bin of its own
	for p := range share {
		ece += math.Abs(share[p]-sum[p]) / count
	}
	near(t, "Brier", got.Brier.Value, brier.Estimate().Value, 1e-15)
	near(t, "its standard error", got.Brier.StandardError, brier.Estimate().StandardError, 1e-15)
	near(t, "ECE", got.ECE.Value, ece, 1e-14)
	near(t, "AUC", got.AUC.Value, aucOfPairs(scores, yes), 1e-14)
	near(t, "AP", got.AP.Value, precisionOfPairs(scores, yes), 1e-14)
	if none, err := c.Result(); err != nil || !math.IsNaN(none.AUC.Value) || !math.IsNaN(none.AP.Value) || !(none.Brier.Value > 0) {
		t.Errorf("answers that are all no: %+v, %v", none, err)
	}
	if _, err := new(Binary).Result(); err != ErrEmpty {
		t.Errorf("error %v of nothing", err)
	}
}
