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
	e, err := AUCEstimate(scores, positive)
	return e.Value, err
}

// AUCEstimate returns the [AUC] with its standard error, by the variances over the positive and over the negative
// examples of the share of examples of the other kind that are ranked correctly (DeLong, DeLong and
// Clarke-Pearson, Biometrics 44, 1988). The error is NaN for a single example of a kind.
func AUCEstimate(scores []float64, positive []bool) (Estimate, error) {
	sorted, err := sortScores(scores, positive)
	if err != nil {
		return Estimate{}, err
	}
	all := counted(sorted)
	if all.pos == 0 || all.neg == 0 {
		return Estimate{}, fmt.Errorf("metric: %w: AUC of %d positives and %d negatives, expected both", ErrInput, all.pos, all.neg)
	}
	var below group // positives and negatives under the current score
	var twiceU uint64
	var ofPositive, ofNegative Mean // correctly ranked shares
	for len(sorted) > 0 {
		g := firstGroup(sorted)
		twiceU += g.pos * (2*below.neg + g.neg)
		for range g.pos {
			ofPositive.Add((float64(below.neg) + float64(g.neg)/2) / float64(all.neg))
		}
		for range g.neg {
			ofNegative.Add((float64(all.pos-below.pos-g.pos) + float64(g.pos)/2) / float64(all.pos))
		}
		below = group{below.pos + g.pos, below.neg + g.neg}
		sorted = sorted[g.pos+g.neg:]
	}
	return Estimate{float64(twiceU) / (2 * float64(all.pos) * float64(all.neg)),
		math.Hypot(ofPositive.Estimate().StandardError, ofNegative.Estimate().StandardError)}, nil
}

// AveragePrecision returns the mean over the positive examples of the precision among the examples with the same or
// a higher score: the area under the steps of the precision-recall curve. Its standard error is that of the
// jackknife. If positive examples are missing, or if a score is NaN, the error wraps [ErrInput]. The standard error
// of a single positive example is NaN.
func AveragePrecision(scores []float64, positive []bool) (Estimate, error) {
	sorted, err := sortScores(scores, positive)
	if err != nil {
		return Estimate{}, err
	}
	all := counted(sorted)
	if all.pos == 0 {
		return Estimate{}, fmt.Errorf("metric: %w: average precision of no positives, expected some", ErrInput)
	}
	slices.Reverse(sorted)
	var groups, above []group // examples of each score, and of this score and higher ones
	var last group
	for len(sorted) > 0 {
		g := firstGroup(sorted)
		last = group{last.pos + g.pos, last.neg + g.neg}
		groups, above, sorted = append(groups, g), append(above, last), sorted[g.pos+g.neg:]
	}
	return jackknifedPrecision(groups, above, all), nil
}

// jackknifedPrecision returns the average precision of examples in groups of falling scores. Without an example of a
// group, the precisions of this group and of the following groups change: sums from the last group on have them.
func jackknifedPrecision(groups, above []group, all group) Estimate {
	n := float64(all.pos + all.neg)
	total := 0.0 // Σ of the precisions of the positives
	for i, g := range groups {
		total += float64(g.pos) * above[i].precision(0, 0)
	}
	value := total / float64(all.pos)
	if all.pos == 1 {
		return Estimate{value, math.NaN()}
	}
	var withoutPos, withoutNeg, mean, square float64
	rest := total // of the groups before the current one
	for i := len(groups) - 1; i >= 0; i-- {
		g, a := groups[i], above[i]
		rest -= float64(g.pos) * a.precision(0, 0)
		pos, neg := (rest+withoutPos+float64(g.pos-min(g.pos, 1))*a.precision(1, 0))/float64(all.pos-1), (rest+withoutNeg+float64(g.pos)*a.precision(0, 1))/float64(all.pos)
		withoutPos += float64(g.pos) * a.precision(1, 0)
		withoutNeg += float64(g.pos) * a.precision(0, 1)
		mean += (float64(g.pos)*(pos-value) + float64(g.neg)*(neg-value)) / n
		square += (float64(g.pos)*(pos-value)*(pos-value) + float64(g.neg)*(neg-value)*(neg-value)) / n
	}
	return Estimate{value, math.Sqrt((n - 1) * max(square-mean*mean, 0))}
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
	value    float64 // the score
	positive bool    // the label
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

// group are the numbers of positives and of negatives among some examples.
type group struct {
	pos, neg uint64 // numbers of examples
}

// precision returns the share of positives without some examples; 0 where there are none or none is left.
func (g group) precision(pos, neg uint64) float64 {
	if g.pos < pos || g.neg < neg || g.pos+g.neg == pos+neg {
		return 0
	}
	return float64(g.pos-pos) / float64(g.pos+g.neg-pos-neg)
}

// firstGroup counts the leading scores that are equal.
func firstGroup(s []score) (g group) {
	n := 0
	for n < len(s) && s[n].value == s[0].value {
		n++
	}
	return counted(s[:n])
}

// counted counts scores.
func counted(s []score) (g group) {
	for _, v := range s {
		if v.positive {
			g.pos++
		} else {
			g.neg++
		}
	}
	return g
}
