package gp

import (
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/kernel"
)

// MeanNLL returns the mean over N rows of the negative log predictive density −log p(y_n) of
// targets y [N·W·C] under the observation model l, where the latent function has the mean [N·C] and
// the covariances cov [N·C·C] of its C outputs. Where cov is nil the function is certain and
// equals mean, so that the value is the mean of −log p(y_n | mean_n).
func MeanNLL(l likelihood.Likelihood, y, mean, cov []float64, outputs int) float64 {
	c, n := outputs, len(mean)/outputs
	w := len(y) / max(1, n)
	return -meanOf(n, func(from, to int, logP []float64) {
		for i := from; i < to; i++ {
			row, f := y[i*w:(i+1)*w], mean[i*c:(i+1)*c]
			if cov == nil {
				logP[i] = l.LogDensity(row, f)
			} else {
				logP[i] = l.LogPredictive(row, f, cov[i*c*c:(i+1)*c*c])
			}
		}
	})
}

// meanOf returns the mean of n numbers, of which write writes those from … to−1 to v [n]. Several threads call write;
// the sum has the same bits with every number of threads.
func meanOf(n int, write func(from, to int, v []float64)) float64 {
	v, sum := make([]float64, n), 0.0
	kernel.Share(kernel.Parts(n, n, leastRows), n*rowTime, &rowJob{v, write})
	for _, x := range v {
		sum += x
	}
	return sum / float64(n)
}

const (
	leastRows = 16   // of a part of the work
	rowTime   = 1000 // nanoseconds of a log density with a quadrature
)

// rowJob writes numbers of rows in parts.
type rowJob struct {
	v     []float64                       // [n]
	write func(from, to int, v []float64) // see meanOf
}

// Run implements kernel.Job.
func (j *rowJob) Run(part, parts int) {
	n := len(j.v)
	j.write(n*part/parts, n*(part+1)/parts, j.v)
}
