package calibrate

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Online adapts the intervals of one level while labels come in, so that they hold their level in the long run, whatever happens
// to the data: breaks, drifts, or a model that is wrong. It takes scores such as those of [Conformal], |y − μ|/σ of a number,
// and gives the largest score of the next interval. It is not for several goroutines at once.
//
// The method is adaptive conformal inference with several learning rates (Gibbs and Candès 2024): for each rate γ there is an
// error probability α, which moves by γ(1 − level − error) after each label, and the quantile of the last 500 scores for 1 − α is
// the limit. The α of the rates are averaged with weights that fall with their pinball losses. Below α = 0 the limit is larger than all these
// scores, in proportion to −α, so that a jump of the scores is caught up with.
type Online struct {
	level   float64
	alphas  [len(rates)]float64 // error probability of each rate
	weights [len(rates)]float64 // weight of each rate, 1 in all
	last    []float64           // last scores, a ring
	next    int                 // place of the oldest of last, if it is full
	sorted  []float64           // the same, ascending
	seen    int                 // labels so far
	inside  int                 // labels inside their intervals
}

// rates are the learning rates.
var rates = [...]float64{0.01, 0.02, 0.04, 0.08, 0.16}

const (
	onlineWindow = 500  // number of last scores
	onlineMemory = 500  // number of labels over which rates are compared
	growth       = 10.0 // growth of the limit below α = 0, in terms of the largest score
)

// NewOnline returns an Online for intervals of a level. The scores, of rows that neither training nor fit has used, are those
// before the first label; their order does not count. There must be enough for the level.
func NewOnline(level float64, scores []float64) (*Online, error) {
	if !(level > 0 && level < 1) {
		return nil, fmt.Errorf("level %g, expected a probability between 0 and 1", level)
	}
	if err := Enough(len(scores), level); err != nil {
		return nil, err
	}
	o := &Online{level: level, sorted: slices.Sorted(slices.Values(scores))}
	if n := len(o.sorted); !(o.sorted[0] >= 0) || math.IsInf(o.sorted[n-1], 0) {
		return nil, errors.New("scores of intervals that adapt, expected finite numbers from 0 on")
	}
	if n := len(o.sorted); n > onlineWindow { // at equal distances
		for i := range onlineWindow {
			o.sorted[i] = o.sorted[i*(n-1)/(onlineWindow-1)]
		}
		o.sorted = o.sorted[:onlineWindow]
	}
	// The oldest are taken out first; mixed, so that what stays is like the whole.
	for i, n := 0, len(o.sorted); i < n; i++ {
		o.last = append(o.last, o.sorted[i*coprime(n)%n])
	}
	for k := range rates {
		o.alphas[k], o.weights[k] = 1-level, 1/float64(len(rates))
	}
	return o, nil
}

// coprime returns a step that visits each of n places once, far from one to the next.
func coprime(n int) int {
	step := max(1, int(0.618*float64(n)))
	for ; ; step++ {
		a, b := step, n
		for b > 0 {
			a, b = b, a%b
		}
		if a == 1 {
			return step
		}
	}
}

// alpha returns the error probability of the next interval.
func (o *Online) alpha() float64 {
	sum := 0.0
	for k, w := range o.weights {
		sum += w * o.alphas[k]
	}
	return sum
}

// Limit returns the largest score of the next interval: the interval of a number is μ ± Limit σ.
func (o *Online) Limit() float64 { return o.limit(o.alpha()) }

// limit returns the largest score for an error probability.
func (o *Online) limit(alpha float64) float64 {
	n := len(o.sorted)
	most := o.sorted[n-1]
	if alpha <= 0 {
		return most * (1 - growth*alpha)
	}
	k := int(math.Ceil(float64(n+1)*(1-alpha) - rounding))
	return o.sorted[min(max(k, 1), n)-1]
}

// Add takes the score of the next label, and reports whether it was inside its interval. A score that is not finite or is below 0 is
// an error, and changes nothing.
func (o *Online) Add(score float64) (inside bool, err error) {
	if !(score >= 0) || math.IsInf(score, 0) {
		return false, fmt.Errorf("score %g, expected a finite number from 0 on", score)
	}
	inside = score <= o.Limit()
	if o.seen++; inside {
		o.inside++
	}
	o.reweigh(score)
	for k, rate := range rates {
		miss := 0.0
		if score > o.limit(o.alphas[k]) {
			miss = 1
		}
		o.alphas[k] = min(max(o.alphas[k]+rate*(1-o.level-miss), -1), 1)
	}
	o.remember(score)
	return inside, nil
}

// reweigh changes the weights of the rates by their pinball losses at the error probability that the label would just have had.
func (o *Online) reweigh(score float64) {
	at, _ := slices.BinarySearch(o.sorted, score)
	beta := 1 - float64(at)/float64(len(o.sorted)) // share of the last scores that are as large
	miss := 1 - o.level
	const memory = onlineMemory
	k := float64(len(rates))
	speed := math.Sqrt(3. / memory * (math.Log(memory*k) + 2) / (o.level*o.level*miss*miss*miss + miss*miss*o.level*o.level*o.level))
	total := 0.0
	for i, a := range o.alphas {
		loss := miss*(beta-a) - min(0, beta-a)
		o.weights[i] *= math.Exp(-speed * loss)
		total += o.weights[i]
	}
	const mixed = 1. / (2 * memory)
	for i := range o.weights {
		o.weights[i] = (1-mixed)*o.weights[i]/total + mixed/k
	}
}

// remember puts a score in place of the oldest one.
func (o *Online) remember(score float64) {
	if len(o.last) < onlineWindow {
		o.last = append(o.last, score)
	} else {
		at, _ := slices.BinarySearch(o.sorted, o.last[o.next])
		o.sorted = slices.Delete(o.sorted, at, at+1)
		o.last[o.next] = score
		o.next = (o.next + 1) % onlineWindow
	}
	at, _ := slices.BinarySearch(o.sorted, score)
	o.sorted = slices.Insert(o.sorted, at, score)
}

// Seen returns the number of labels so far, and how many of them were inside their intervals.
func (o *Online) Seen() (labels, inside int) { return o.seen, o.inside }

// Conformal returns the last scores as a calibration for intervals of any level. They are scaled so that the interval of the level of o
// has the limit [Online.Limit]. Other levels have the proportions of the last scores; only the level of o holds whatever happens to the data.
func (o *Online) Conformal() *Conformal {
	limit, n := o.Limit(), len(o.sorted)
	at := o.sorted[min(int(math.Ceil(float64(n+1)*o.level-rounding)), n)-1]
	c := &Conformal{Scores: make([]float64, n, n+1)}
	for i, s := range o.sorted {
		if c.Scores[i] = limit; at > 0 {
			c.Scores[i] = s / at * limit
		}
	}
	for Enough(len(c.Scores), o.level) != nil { // the level needs more than the last scores
		c.Scores = append(c.Scores, c.Scores[n-1])
	}
	c.Rows = len(c.Scores)
	return c
}
