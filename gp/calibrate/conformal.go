package calibrate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/internal/dense"
)

// Conformal has the scores of split conformal prediction (Papadopoulos et al. 2002; Lei et al. 2018). The scores
// are the errors of a model on n rows that neither its network nor its posterior nor an earlier calibration has
// used. In regression the score of a row is |y − μ|/√v, with the mean and the variance of the prediction. In
// classification [Conformal.ClassScores] computes the scores.
//
// What [Conformal.Quantile] returns for a level has this guarantee: if the n rows and a new one
// are exchangeable, such as independent draws from one distribution, then the score of the new
// row is at most the quantile with a probability of at least the level. If all scores are different, the probability
// is at most the level plus 1/(n+1). This holds for any model, however wrong. It holds on average over rows and not
// for each input, and it does not hold for rows from another distribution. With several targets it holds for each
// target alone.
type Conformal struct {
	// Link made the probabilities of the classes. The scores are correct for this link only. "" in regression.
	Link string `json:"link,omitempty"`
	Sets string `json:"sets,omitempty"` // kind of the sets of classes: APS, RAPS, or LAC, which "" means
	Seed uint64 `json:"seed,omitempty"` // seed of APS and RAPS
	Rows int    `json:"rows"`           // number n of rows
	// Groups divide the rows, each of which then has the quantiles of its group; nil: all rows are one group.
	Groups *Groups `json:"groups,omitempty"`
	// Shift gives the rows weights, so that the level holds for new rows with other inputs; nil: all rows count the same. Cumulative
	// [T,n] are the sums of the weights up to each score.
	Shift      *Shift    `json:"shift,omitempty"`
	Cumulative []float64 `json:"-"`
	// Scores [T,n] has the scores of each target, by group and ascending. In classification T is 1.
	Scores []float64 `json:"-"`
}

// Numbers returns the scores of n rows of a regression: means, variances and targets y, [n,T] each.
func Numbers(mean, variance, y []float64, targets int) *Conformal {
	return NumbersBy(mean, variance, y, targets, Division{})
}

// NumbersBy is [Numbers] for rows that are divided into groups.
func NumbersBy(mean, variance, y []float64, targets int, by Division) *Conformal {
	n := len(y) / targets
	c := &Conformal{Rows: n, Scores: make([]float64, len(y))}
	for i, v := range y {
		c.Scores[i%targets*n+i/targets] = math.Abs(v-mean[i]) / math.Sqrt(variance[i])
	}
	return c.sorted(by)
}

// Division divides the rows of a calibration. The zero value leaves them together.
type Division struct {
	Groups *Groups // of the rows
	Of     []int   // group of each row [n]

	Shift   *Shift    // in place of groups: weights by the inputs
	Weights []float64 // weight of each row [n]
}

// Classes returns the scores of n rows with the probabilities [n,C] and the true classes labels [n]. The sets are
// LAC, APS or RAPS; LAC does not use the seed.
func Classes(probs []float64, labels []int, link, sets string, seed uint64) *Conformal {
	return ClassesBy(probs, labels, link, sets, seed, Division{})
}

// ClassesBy is [Classes] for rows that are divided into groups.
func ClassesBy(probs []float64, labels []int, link, sets string, seed uint64, by Division) *Conformal {
	c := &Conformal{Link: link, Sets: sets, Seed: seed, Rows: len(labels), Scores: make([]float64, len(labels))}
	row := make([]float64, len(probs)/max(1, len(labels)))
	for i, k := range labels {
		c.ClassScores(row, probs[i*len(row):(i+1)*len(row)])
		c.Scores[i] = row[k]
	}
	return c.sorted(by)
}

// sorted sorts the scores of each target, by group if there are groups, and adds up the weights of a shift.
func (c *Conformal) sorted(by Division) *Conformal {
	c.Groups, c.Shift = by.Groups, by.Shift
	for t := range len(c.Scores) / max(1, c.Rows) {
		scores, order, sum := c.of(t), dense.Indices(c.Rows), 0.0
		plain := slices.Clone(scores)
		slices.SortStableFunc(order, func(a, b int) int {
			if by.Groups != nil && by.Of[a] != by.Of[b] {
				return cmp.Compare(by.Of[a], by.Of[b])
			}
			return cmp.Compare(plain[a], plain[b])
		})
		for k, i := range order {
			if scores[k] = plain[i]; by.Shift != nil {
				sum += by.Weights[i]
				c.Cumulative = append(c.Cumulative, sum)
			}
		}
	}
	return c
}

// of returns the scores of a target.
func (c *Conformal) of(target int) []float64 {
	return c.Scores[target*c.Rows : (target+1)*c.Rows]
}

// Check returns an error if the scores are wrong for a number of targets.
func (c *Conformal) Check(targets int) error {
	if c.Sets != "" && !slices.Contains([]string{LAC, APS, RAPS}, c.Sets) {
		return fmt.Errorf("sets %q, expected %q, %q or %q", c.Sets, LAC, APS, RAPS)
	}
	if c.Rows < 1 || len(c.Scores) != c.Rows*targets {
		return fmt.Errorf("%d conformal scores of %d rows, expected %d for each", len(c.Scores), c.Rows, targets)
	}
	if c.Shift != nil && (len(c.Cumulative) != len(c.Scores) || c.Groups != nil) {
		return fmt.Errorf("%d sums of weights of %d conformal scores, expected one for each, and no groups", len(c.Cumulative), len(c.Scores))
	}
	for t := range targets {
		if c.Shift == nil {
			break
		}
		if s := c.Cumulative[t*c.Rows : (t+1)*c.Rows]; !(s[0] >= 0) || !slices.IsSorted(s) || math.IsInf(s[len(s)-1], 0) {
			return fmt.Errorf("sums of weights of target %d, expected finite numbers from 0 on, ascending", t)
		}
	}
	for i := range targets * c.groups() {
		if s := c.group(i/c.groups(), i%c.groups()); !(s[0] >= 0) || !slices.IsSorted(s) || math.IsInf(s[len(s)-1], 0) {
			return fmt.Errorf("conformal scores of target %d, expected finite numbers from 0 on, ascending", i/c.groups())
		}
	}
	return nil
}

// groups returns the number of groups.
func (c *Conformal) groups() int {
	if c.Groups == nil {
		return 1
	}
	return len(c.Groups.Sizes)
}

// rounding is subtracted before the rounding up in ⌈(n+1)·level⌉, so that 10 × 0.9 gives 9.
const rounding = 1e-9

// Enough returns an error if n rows are too few for intervals of a level, ⌈(n+1)·level⌉ > n.
func Enough(n int, level float64) error {
	if int(math.Ceil(float64(n+1)*level-rounding)) <= n {
		return nil
	}
	return fmt.Errorf("the level %g needs a conformal calibration with %.0f rows at least, this one has %d: expected a level of at most %.3g",
		level, math.Ceil(level/(1-level)-rounding), n, math.Floor(1000*float64(n)/float64(n+1))/1000)
}

// Quantile is [Conformal.QuantileIn] for the group 0, the only one without groups.
func (c *Conformal) Quantile(target int, level float64) (float64, error) {
	return c.QuantileIn(target, 0, level)
}

// QuantileIn returns the k-th smallest score of a target in a group, k = ⌈(n+1)·level⌉ for n rows of the group, for a level from 0
// to below 1; k = 0 gives 0. If k > n, only an infinite interval would hold the level: the rows are too few, which
// is an error.
func (c *Conformal) QuantileIn(target, group int, level float64) (float64, error) {
	scores := c.group(target, group)
	k := int(math.Ceil(float64(len(scores)+1)*level - rounding))
	switch {
	case !(level >= 0 && level < 1):
		return 0, fmt.Errorf("level %g, expected a probability below 1", level)
	case k > len(scores):
		return 0, Enough(len(scores), level)
	case k <= 0:
		return 0, nil
	}
	return scores[k-1], nil
}

// Quantiles returns the quantiles of all groups for a target, see [Conformal.QuantileIn].
func (c *Conformal) Quantiles(target int, level float64) ([]float64, error) {
	out := make([]float64, c.groups())
	for g := range out {
		var err error
		if out[g], err = c.QuantileIn(target, g, level); err != nil {
			return nil, err
		}
	}
	return out, nil
}
