package metric

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// AUC is the area under the ROC curve: the probability that a random positive
// scores above a random negative, a tie counting one half (the Mann-Whitney U
// statistic over the number of pairs). scores and positive are both [n]; both
// kinds must occur and no score may be NaN, otherwise the error wraps
// [ErrInput]. Pairs are counted in integers, after one sort.
func AUC(scores []float64, positive []bool) (float64, error) {
	sorted, err := sortScores(scores, positive)
	if err != nil {
		return 0, err
	}
	var below, positives, twiceU uint64 // below: negatives under the present score
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

// OODAUC is the [AUC] of telling out-of-distribution inputs (positive) from
// in-distribution ones by a score such as the predictive entropy, larger for
// out-of-distribution inputs. The two slices may differ in length.
func OODAUC(in, out []float64) (float64, error) {
	positive := make([]bool, len(in)+len(out))
	for i := range out {
		positive[len(in)+i] = true
	}
	return AUC(slices.Concat(in, out), positive)
}

type score struct {
	value    float64
	positive bool
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

// firstGroup counts the positives, the negatives and all of the leading equal scores.
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
