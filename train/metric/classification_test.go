package metric

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func classificationOf(t *testing.T, probs []float64, labels []int) ClassificationScores {
	t.Helper()
	var c Classification
	if err := c.Add(probs, labels); err != nil {
		t.Fatal(err)
	}
	s, err := c.Result()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestClassificationByHand(t *testing.T) {
	probs := []float64{
		0.5, 0.25, 0.25, // right, Brier ¼ + 1/16 + 1/16 = 0.375, entropy 1.5 log 2
		0.25, 0.25, 0.5, // wrong (label 0), Brier 9/16 + 1/16 + 1/4 = 0.875
		0, 1, 0, // right, Brier 0
		0.5, 0.5, 0, // the first of equals: wrong for label 1, Brier 0.5
	}
	s := classificationOf(t, probs, []int{0, 0, 1, 1})
	near(t, "NLL", s.NLL, (1+2+0+1)*math.Ln2/4, 1e-15)
	near(t, "ACC", s.ACC, 0.5, 0)
	near(t, "Brier", s.Brier, 1.75/4, 1e-15)
	near(t, "Entropy", Entropy(probs[:3]), 1.5*math.Ln2, 1e-15)
	// Confidence ½ three times, once right: |1 − 1.5| = 0.5; confidence 1, right: 0.
	near(t, "ECE", s.ECE, 0.5/4, 1e-15)
}

func TestClassificationInfiniteNLL(t *testing.T) {
	s := classificationOf(t, []float64{1, 0}, []int{1})
	if !math.IsInf(s.NLL, 1) {
		t.Errorf("NLL of an impossible label = %v, want +Inf", s.NLL)
	}
	for p := 0.5; p < 1; p += 0.01 {
		if s := classificationOf(t, []float64{p, 1 - p}, []int{0}); !math.IsNaN(s.Errors.ECE) {
			t.Errorf("the ECE of one row with the probability %g has the standard error %g", p, s.Errors.ECE)
		}
	}
}

func TestBinsAreClosedAbove(t *testing.T) {
	for _, n := range []int{1, 2, 10, 15, 49, 100} {
		for i := range n {
			edge := float64(i+1) / float64(n)
			if got := binOf(edge, n); got != i {
				t.Errorf("bin of the edge %d/%d is %d, want %d", i+1, n, got, i)
			}
			if got := binOf(math.Nextafter(edge, 2), n); got != min(i+1, n-1) {
				t.Errorf("bin just above the edge %d/%d is %d", i+1, n, got)
			}
		}
		if got := binOf(0, n); got != 0 {
			t.Errorf("bin of 0 is %d", got)
		}
	}
}

// softmaxSample is n rows of classes probabilities with labels drawn from them,
// flattened a little so that they are not calibrated.
func softmaxSample(n, classes int) (probs []float64, labels []int) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range n {
		row, sum := make([]float64, classes), 0.0
		for k := range row {
			row[k] = math.Exp(2 * rng.NormFloat64())
			sum += row[k]
		}
		label, u := classes-1, rng.Float64()*sum
		for k := range row {
			if u -= row[k]; u < 0 {
				label = k
				break
			}
		}
		if rng.IntN(5) == 0 {
			label = rng.IntN(classes)
		}
		for k := range row {
			probs = append(probs, row[k]/sum)
		}
		labels = append(labels, label)
	}
	return probs, labels
}

func TestECEAgainstDefinition(t *testing.T) {
	const n, classes = 150, 4
	probs, labels := softmaxSample(n, classes)
	want := 0.0
	for b := range 15 {
		lo, hi := float64(b)/15, float64(b+1)/15
		var count, accuracy, confidence float64
		for i, label := range labels {
			best, p := argmax(probs[i*classes : (i+1)*classes])
			if p > lo && p <= hi {
				count++
				confidence += p
				if best == label {
					accuracy++
				}
			}
		}
		if count > 0 {
			want += count / n * math.Abs(accuracy/count-confidence/count)
		}
	}
	near(t, "ECE", classificationOf(t, probs, labels).ECE, want, 1e-13)
}

func argmax(p []float64) (int, float64) {
	best := 0
	for k := range p {
		if p[k] > p[best] {
			best = k
		}
	}
	return best, p[best]
}

func TestClassificationStreamsExactly(t *testing.T) {
	const classes = 5
	probs, labels := softmaxSample(101, classes)
	want := classificationOf(t, probs, labels)
	for _, batch := range []int{1, 7, 100} {
		var c Classification
		for lo := 0; lo < len(labels); lo += batch {
			hi := min(lo+batch, len(labels))
			if err := c.Add(probs[lo*classes:hi*classes], labels[lo:hi]); err != nil {
				t.Fatal(err)
			}
		}
		if got, _ := c.Result(); got != want {
			t.Errorf("batches of %d: %+v, want %+v", batch, got, want)
		}
	}
}

func TestClassificationRefuses(t *testing.T) {
	good := []float64{0.5, 0.5, 0.25, 0.75}
	for _, c := range []struct {
		probs  []float64
		labels []int
		want   string
	}{
		{[]float64{0.5, 0.5, math.NaN(), 1}, []int{0, 1}, "probability [1,0] = NaN"},
		{[]float64{0.5, 0.5, -0.5, 1.5}, []int{0, 1}, "probability [1,0] = -0.5"},
		{[]float64{0.5, 0.5, 0.25, 0.7}, []int{0, 1}, "row 1 sum to 0.95"},
		{good, []int{0, 2}, "label[1] = 2, expected 0 to 1"},
		{good, []int{-1, 1}, "label[0] = -1"},
		{good, []int{0, 1, 1}, "4 probabilities for 3 labels"},
		{good, nil, "4 probabilities for 0 labels"},
		{nil, []int{0}, "0 probabilities for 1 labels"},
	} {
		var m Classification
		err := m.Add(c.probs, c.labels)
		if !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
		if _, err := m.Result(); !errors.Is(err, ErrEmpty) {
			t.Errorf("after a refused batch: %v, want %v", err, ErrEmpty)
		}
	}
}

func TestClassificationClassesAreChecked(t *testing.T) {
	var c Classification
	if err := c.Add([]float64{0.5, 0.5}, []int{0}); err != nil {
		t.Error(err)
	}
	if err := c.Add([]float64{0.5, 0.25, 0.25}, []int{0}); !errors.Is(err, ErrInput) {
		t.Errorf("a batch of other classes accepted: %v", err)
	}
	if err := c.Add(nil, nil); err != nil {
		t.Errorf("an empty batch: %v", err)
	}
}

// The bins give the ECE of the scores.
func TestReliability(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var probs, confidence []float64
	var labels []int
	var right []bool
	for range 200 {
		p, label := rng.Float64(), rng.IntN(2)
		probs, labels = append(probs, p, 1-p), append(labels, label)
		confidence, right = append(confidence, max(p, 1-p)), append(right, (p < 0.5) == (label == 1))
	}
	c := classificationOf(t, probs, labels)
	ece, n := 0.0, 0
	for i, b := range Reliability(confidence, right, 15) {
		if b.Confidence <= 0.5 || b.Confidence > 1 || i > 0 && b.N == 0 {
			t.Errorf("bin %+v", b)
		}
		ece += float64(b.N) / 200 * math.Abs(b.Accuracy-b.Confidence)
		n += b.N
	}
	if n != 200 {
		t.Errorf("%d rows", n)
	}
	near(t, "ECE", ece, c.ECE, 1e-12)
	if Reliability(nil, nil, 5) != nil {
		t.Error("bins of no rows")
	}
}
