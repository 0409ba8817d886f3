package gp

import "math"

// AnyVariance are the variances of the latent function with which a row may lie anywhere, see [Robust], in units of the
// noise's variance.
var AnyVariance = []float64{16, 256, 4096, 65536}

// Robust is the log density of rows of which one may lie anywhere, by which held-out rows choose standard deviations. A single
// row far from its mean would choose a large σ₀ for all rows: of 40 rows one at 14 standard deviations of the noise has been seen
// to double the negative log-likelihood of fresh rows. The density is the mean of the density of all rows and of the mean over
// rows i of the density in which q_i is in place of p_i,
//
//	Π_j p_j · ½ (1 + 1/n Σ_i q_i / p_i),
//
// where q is the largest density that a row has with any variance of the latent function, and q/p is bounded. So the rows cost at
// most log 2n more than they do without one of them, whichever this is, if it lies within 14 standard deviations. The zero value
// has no rows.
type Robust struct {
	sum  float64 // Σ w log p
	mean float64 // Σ w q/p
}

// RobustRows is how many rows are at most taken for so few that one of them may lie anywhere. The farthest of thousands of rows is
// one of many far ones, and says how heavy their tails are: on 67,109 taxi rides fits in which the farthest could lie anywhere had an
// NLL of 3.52 in place of 3.38. The tables of docs/honest.md hold out 8 to 100 rows; other bounds were not compared.
const RobustRows = 100

// mostGain bounds log q/p, what one row may gain by lying anywhere: the log density of a row at 14 standard deviations is 98 lower.
const mostGain = 100

// Add adds rows with their log densities logP [n] and anyway [n], those with any variance, and with weights [n] that sum to 1
// over all rows.
func (r *Robust) Add(logP, anyway, weights []float64) {
	for i, w := range weights {
		if w == 0 {
			continue
		}
		r.sum += w * logP[i]
		gain := anyway[i] - logP[i]
		if !(gain > 0) { // the present variance is among any variances
			gain = 0
		}
		r.mean += w * math.Exp(min(gain, mostGain))
	}
}

// Mean returns the log density per row, where there are so many rows.
func (r *Robust) Mean(rows int) float64 {
	if r.mean == 0 {
		return r.sum
	}
	return r.sum + math.Log((1+r.mean)/2)/float64(rows)
}
