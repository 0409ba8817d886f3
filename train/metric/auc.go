package metric

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// AUC returns the area under the ROC curve: the probability that a random positive example
// has a higher score than a random negative one, where a tie counts one half. It is the
// Mann-Whitney U statistic divided by the number of pairs. scores and positive are both [n].
// If positive or negative examples are missing, or if a score is NaN, the error wraps [ErrInput]. Pairs are
// counted in integers, after one sort.
func AUC(scores []float64, positive []bool) (float64, error) {
	sorted, err := sortScores(scores, positive)
	if err != nil {
		return 0, err
	}
	var below, positives, twiceU uint64 // below counts the negatives under the current score
	for len(sorted) > 0 {
		pos, neg, n := firstGroup(sorted)
		twiceU += pos * (2*below + neg)
		below += neg
		positives += pos
		sorted = sorted[n:]
	}
	if positives == 0 || below == 0 {
		return 0, fmt.Errorf("metric: %w: AUC of %d positives and %d negatives, expected both", ErrInput, positives, below)
	}
	return float64(twiceU) / (2 * float64(positives) * float64(below)), nil
}

// OODAUC returns the [AUC] of a score, such as the predictive entropy, that should be larger
// for out-of-distribution inputs than for in-distribution ones. in and out are the scores of
// the two kinds of inputs. They may differ in length.
func OODAUC(in, out []float64) (float64, error) {
	positive := make([]bool, len(in)+len(out))
	for i := range out {
		positive[len(in)+i] = true
	}
	return AUC(slices.Concat(in, out), positive)
}

type score struct {
	value    float64
	positive bool // the label
}

func sortScores(scores []float64, positive []bool) ([]score, error) {
	if len(scores) != len(positive) {
		return nil, fmt.Errorf("metric: %w: %d scores and %d labels, expected equal numbers", ErrInput, len(scores), len(positive))
	}
	s := make([]score, len(scores))
	for i, v := range scores {
		if math.IsNaN(v) {
			return nil, fmt.Errorf("metric: %w: score[%d] is NaN", ErrInput, i)
		}
		s[i] = score{v, positive[i]}
	}
	slices.SortFunc(s, func(a, b score) int { return cmp.Compare(a.value, b.value) })
	return s, nil
}

// firstGroup looks at the leading scores that are equal. It counts the positives, the
// negatives and all scores of this group.
func firstGroup(s []score) (pos, neg uint64, n int) {
	for n < len(s) && s[n].value == s[0].value {
		if s[n].positive {
			pos++
		} else {
			neg++
		}
		n++
	}
	return pos, neg, n
}
