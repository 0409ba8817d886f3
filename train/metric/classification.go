package metric

import (
	"fmt"
	"math"
)

const (
	binCount  = 15   // bins of equal width into which the expected calibration error (ECE) divides the confidence
	tolerance = 1e-5 // largest difference from one of the sum of a row's probabilities; float32 satisfies it
)

// Classification accumulates the scores of predicted class probabilities. The zero value is
// ready to use.
type Classification struct {
	classes int           // the number of classes in the first batch; 0 before it
	bins    [binCount]bin // of the confidence

	// means over the rows, of which those of right are 1 where a row was classified correctly, and those of square
	// are (right − confidence)²
	right, nll, brier, square Mean // over the rows
}

// ClassificationScores are the scores of N predictions. Every mean is over all predictions.
type ClassificationScores struct {
	N     int     // predictions
	NLL   float64 // negative log-likelihood: mean of −log p[label], nats; +Inf if a label had probability 0
	ACC   float64 // accuracy: share of rows whose most probable class (the first of equals) is the label
	ECE   float64 // expected calibration error, see Add
	Brier float64 // mean over rows of the sum over classes of (p − onehot)²

	// Errors are standard errors. The ECE is a sum of magnitudes over the bins, whose signs count as known.
	Errors struct{ NLL, ACC, ECE, Brier float64 } // in the units of the scores
}

// Add adds a batch: probs is [n, C] row-major, and labels is [n] with numbers from 0 to C−1.
// The number of classes C must be the same for all batches. If it is not, if a label or a
// probability is out of range, or if a row does not sum to one, nothing is added and the
// error wraps [ErrInput].
//
// The ECE puts each row into the bin (lo, hi] that contains its largest probability, the
// confidence. It is the mean over rows of |accuracy − mean confidence| of their bins (Guo et
// al., On Calibration of Modern Neural Networks, ICML 2017, equation 3).
func (c *Classification) Add(probs []float64, labels []int) error {
	if len(probs) == 0 && len(labels) == 0 {
		return nil
	}
	classes, err := c.check(probs, labels)
	if err != nil {
		return err
	}
	c.classes = classes
	for i, label := range labels {
		c.add(probs[i*classes:(i+1)*classes], label)
	}
	return nil
}

func (c *Classification) add(p []float64, label int) {
	best, brier := 0, 0.0
	for k, q := range p {
		if q > p[best] {
			best = k
		}
		if k == label {
			q--
		}
		brier += q * q
	}
	right := step(best == label)
	c.nll.Add(-math.Log(p[label]))
	c.brier.Add(brier)
	c.right.Add(right)
	c.square.Add((right - p[best]) * (right - p[best]))
	c.bins[binOf(p[best], binCount)].add(p[best], best == label)
}

// Result returns the scores of everything added so far, or [ErrEmpty].
func (c *Classification) Result() (ClassificationScores, error) {
	n := c.nll.n
	if n == 0 {
		return ClassificationScores{}, ErrEmpty
	}
	nll, right, brier := c.nll.Estimate(), c.right.Estimate(), c.brier.Estimate()
	s := ClassificationScores{N: int(n), NLL: nll.Value, ACC: right.Value, Brier: brier.Value}
	ece := eceOf(c.bins[:], n, c.square.Estimate().Value)
	s.ECE = ece.Value
	s.Errors.NLL, s.Errors.ACC, s.Errors.ECE, s.Errors.Brier = nll.StandardError, right.StandardError, ece.StandardError, brier.StandardError
	return s, nil
}

// eceOf returns the expected calibration error of n rows in bins: the mean of ±(right − confidence), where the sign is
// that of the row's bin. square is the mean of (right − confidence)².
func eceOf(bins []bin, n, square float64) Estimate {
	var e Estimate
	for _, b := range bins {
		e.Value += math.Abs(float64(b.right)-b.confidence) / n
	}
	e.StandardError = standardError(square-e.Value*e.Value, n)
	return e
}

// Entropy returns the predictive entropy −Σ p log p of one row of probabilities, in nats.
// 0 log 0 counts as 0.
func Entropy(p []float64) float64 {
	h := 0.0
	for _, q := range p {
		if q > 0 {
			h -= q * math.Log(q)
		}
	}
	return h
}

// bin holds the rows of one interval of confidence.
type bin struct {
	right      int     // rows that were classified correctly
	confidence float64 // sum over the rows of the bin
}

func (b *bin) add(confidence float64, right bool) {
	b.confidence += confidence
	if right {
		b.right++
	}
}

// binOf returns the number i of the bin with i/n < p ≤ (i+1)/n, out of n bins. Rounding can
// put p·n on the wrong side of an edge; two loops correct that.
func binOf(p float64, n int) int {
	i := min(int(p*float64(n)), n-1)
	for i > 0 && p <= float64(i)/float64(n) {
		i--
	}
	for i < n-1 && p > float64(i+1)/float64(n) {
		i++
	}
	return i
}

func (c *Classification) check(probs []float64, labels []int) (classes int, err error) {
	if len(labels) == 0 || len(probs) == 0 || len(probs)%len(labels) != 0 {
		return 0, fmt.Errorf("metric: %w: %d probabilities for %d labels, expected the same number of classes for each",
			ErrInput, len(probs), len(labels))
	}
	classes = len(probs) / len(labels)
	if c.classes != 0 && classes != c.classes {
		return 0, fmt.Errorf("metric: %w: %d classes, expected %d as in the first batch", ErrInput, classes, c.classes)
	}
	for i, label := range labels {
		if label < 0 || label >= classes {
			return 0, fmt.Errorf("metric: %w: label[%d] = %d, expected 0 to %d", ErrInput, i, label, classes-1)
		}
		if err := checkRow(i, probs[i*classes:(i+1)*classes]); err != nil {
			return 0, err
		}
	}
	return classes, nil
}

func checkRow(row int, p []float64) error {
	sum := 0.0
	for k, q := range p {
		if !(q >= 0 && q <= 1+tolerance) {
			return fmt.Errorf("metric: %w: probability [%d,%d] = %v, expected 0 to 1", ErrInput, row, k, q)
		}
		sum += q
	}
	if math.Abs(sum-1) > tolerance {
		return fmt.Errorf("metric: %w: probabilities of row %d sum to %v, expected 1 within %v", ErrInput, row, sum, tolerance)
	}
	return nil
}

// Bin describes the rows with a confidence in one interval; see [Reliability].
type Bin struct {
	N          int     // rows
	Confidence float64 // mean
	Accuracy   float64 // share of rows that were classified correctly
}

// Reliability divides rows by their confidence [n] into the given number of bins of equal width. It
// returns the bins that have rows, in ascending order. right [n] marks the rows that were classified
// correctly.
// The mean over rows of |Accuracy − Confidence| is the ECE of [Classification].
func Reliability(confidence []float64, right []bool, bins int) []Bin {
	all := make([]bin, bins)
	count := make([]int, bins)
	for i, p := range confidence {
		b := binOf(p, bins)
		all[b].add(p, right[i])
		count[b]++
	}
	var out []Bin
	for b, n := range count {
		if n > 0 {
			out = append(out, Bin{n, all[b].confidence / float64(n), float64(all[b].right) / float64(n)})
		}
	}
	return out
}
