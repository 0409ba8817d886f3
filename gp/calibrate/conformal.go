package calibrate

import (
	"fmt"
	"math"
	"slices"
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
	Sets string `json:"sets,omitempty"` // kind of the sets of classes: APS, or LAC, which "" means
	Seed uint64 `json:"seed,omitempty"` // seed of APS
	Rows int    `json:"rows"`           // number n of rows
	// Scores [T,n] has the scores of each target, ascending. In classification T is 1.
	Scores []float64 `json:"-"`
}

// Numbers returns the scores of n rows of a regression: means, variances and targets y, [n,T] each.
func Numbers(mean, variance, y []float64, targets int) *Conformal {
	n := len(y) / targets
	c := &Conformal{Rows: n, Scores: make([]float64, len(y))}
	for i, v := range y {
		c.Scores[i%targets*n+i/targets] = math.Abs(v-mean[i]) / math.Sqrt(variance[i])
	}
	return c.sorted()
}

// Classes returns the scores of n rows with the probabilities [n,C] and the true classes labels [n]. The sets are
// LAC or APS; only APS uses the seed.
func Classes(probs []float64, labels []int, link, sets string, seed uint64) *Conformal {
	c := &Conformal{Link: link, Sets: sets, Seed: seed, Rows: len(labels), Scores: make([]float64, len(labels))}
	row := make([]float64, len(probs)/max(1, len(labels)))
	for i, k := range labels {
		c.ClassScores(row, probs[i*len(row):(i+1)*len(row)])
		c.Scores[i] = row[k]
	}
	return c.sorted()
}

// sorted sorts the scores of each target.
func (c *Conformal) sorted() *Conformal {
	for t := range len(c.Scores) / max(1, c.Rows) {
		slices.Sort(c.of(t))
	}
	return c
}

// of returns the scores of a target.
func (c *Conformal) of(target int) []float64 {
	return c.Scores[target*c.Rows : (target+1)*c.Rows]
}

// Check returns an error if the scores are wrong for a number of targets.
func (c *Conformal) Check(targets int) error {
	if c.Sets != "" && c.Sets != LAC && c.Sets != APS {
		return fmt.Errorf("sets %q, expected %q or %q", c.Sets, LAC, APS)
	}
	if c.Rows < 1 || len(c.Scores) != c.Rows*targets {
		return fmt.Errorf("%d conformal scores of %d rows, expected %d for each", len(c.Scores), c.Rows, targets)
	}
	for t := range targets {
		if s := c.of(t); !(s[0] >= 0) || !slices.IsSorted(s) || math.IsInf(s[len(s)-1], 0) {
			return fmt.Errorf("conformal scores of target %d, expected finite numbers from 0 on, ascending", t)
		}
	}
	return nil
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

// Quantile returns the k-th smallest score of a target, k = ⌈(n+1)·level⌉, for a level from 0
// to below 1; k = 0 gives 0. If k > n, only an infinite interval would hold the level: the rows are too few, which
// is an error.
func (c *Conformal) Quantile(target int, level float64) (float64, error) {
	k := int(math.Ceil(float64(c.Rows+1)*level - rounding))
	switch {
	case !(level >= 0 && level < 1):
		return 0, fmt.Errorf("level %g, expected a probability below 1", level)
	case k > c.Rows:
		return 0, Enough(c.Rows, level)
	case k <= 0:
		return 0, nil
	}
	return c.of(target)[k-1], nil
}
