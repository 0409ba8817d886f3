package gp

import (
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/kernel"
)

// MeanNLL returns the mean over N rows of the negative log predictive density −log p(y_n) of
// targets y [N·W·C] under the observation model l, where the latent function has the distributions g. Where these are
// [Certain], the value is the mean of −log p(y_n | mean_n).
func MeanNLL(l likelihood.Likelihood, y []float64, g Gaussian) float64 {
	c, n := g.Outputs(), g.N()
	w := len(y) / max(1, n)
	return -meanOf(n, func(from, to int, logP []float64) {
		for i := from; i < to; i++ {
			row, f := y[i*w:(i+1)*w], g.Mean[i*c:(i+1)*c]
			switch {
			case len(g.Cov) == 0:
				logP[i] = l.LogDensity(row, f)
			case g.Marginal > 0:
				logP[i] = l.LogMarginal(row, f, g.Block(i))
			default:
				logP[i] = l.LogPredictive(row, f, g.Block(i))
			}
		}
	})
}

// Certain returns the distribution of a function without uncertainty, whose C outputs at N inputs are mean [N·C]. It has no Cov.
func Certain(mean []float64, c int) Gaussian { return Gaussian{Mean: mean, Marginal: c} }

// meanOf returns the mean of n numbers, of which write writes those from … to−1 to v [n]. Several threads call write;
// the sum has the same bits with every number of threads.
func meanOf(n int, write func(from, to int, v []float64)) float64 {
	v, sum := make([]float64, n), 0.0
	kernel.Share(kernel.Parts(n, n, leastRows), n*rowTime, kernel.Span{N: n, F: func(from, to int) { write(from, to, v) }})
	for _, x := range v {
		sum += x
	}
	return sum / float64(n)
}

const (
	leastRows = 16   // of a part of the work
	rowTime   = 1000 // nanoseconds of a log density with a quadrature
)
