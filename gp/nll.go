package gp

import "github.com/go-valla/valla/gp/likelihood"

// MeanNLL returns the mean over N rows of the negative log predictive density −log p(y_n) of
// targets y [N·W·C] under the observation model l, where the latent function has the mean [N·C] and
// the covariances cov [N·C·C] of its C outputs. Where cov is nil the function is certain and
// equals mean, so that the value is the mean of −log p(y_n | mean_n).
func MeanNLL(l likelihood.Likelihood, y, mean, cov []float64, outputs int) float64 {
	sum, c, n := 0.0, outputs, len(mean)/outputs
	w := len(y) / max(1, n)
	for i := range n {
		row, f := y[i*w:(i+1)*w], mean[i*c:(i+1)*c]
		if cov == nil {
			sum -= l.LogDensity(row, f)
		} else {
			sum -= l.LogPredictive(row, f, cov[i*c*c:(i+1)*c*c])
		}
	}
	return sum / float64(n)
}
