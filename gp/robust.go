package gp

import "math"

// Held-out rows choose the standard deviations of a fit. A single row far from its mean would choose a large σ₀ for all rows:
// of 40 rows one at 14 standard deviations of the noise has been seen to double the negative log-likelihood of fresh rows. So
// one of n rows may lie anywhere: the density of a row is taken as (1 − ε) p + ε q, ε = 1/(n+1), where q is the largest
// density that the row has with any variance of the latent function. A row costs at most log(n+1) more than it must.

// AnyVariance are the variances of the latent function that q may have, in units of the noise's variance.
var AnyVariance = []float64{16, 256, 4096, 65536}

// Robust returns the sum over rows of weights [n] times the log densities that choose standard deviations: from the rows'
// log densities logP [n], and the largest ones with any variance anyway [n]. There are rows of them in all.
func Robust(logP, anyway, weights []float64, rows int) (sum float64) {
	share := 1 / float64(rows+1)
	own, other := math.Log1p(-share), math.Log(share)
	for i, w := range weights {
		if w != 0 {
			a, b := own+logP[i], other+anyway[i]
			sum += w * (max(a, b) + math.Log1p(math.Exp(-math.Abs(a-b))))
		}
	}
	return sum
}
