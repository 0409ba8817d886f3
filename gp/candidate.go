package gp

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/gp/likelihood"
)

// Candidate are standard deviations that a fit compares on validation rows: σ₀ of the
// weights and the scale σ of the noise, which is 1 for a likelihood without noise.
type Candidate struct{ Prior, Noise float64 }

// Candidates lists the pairs that a fit to p compares: each of priors with each noise.
// noise > 0 is the only one; otherwise there are nine from a quarter to four times the
// network's residual, and without validation rows this residual alone.
func Candidates(p Problem, priors []float64, noise float64) (out []Candidate) {
	noises := []float64{1}
	if variance := likelihood.NoiseVariance(p.Likelihood); variance > 0 {
		residual := math.Sqrt(variance)
		switch {
		case noise > 0:
			noises = []float64{noise}
		case p.Validation != nil:
			noises = LogSpaced(residual/4, 4*residual, 9)
		default:
			noises = []float64{residual}
		}
	}
	for _, prior := range priors {
		for _, noise := range noises {
			out = append(out, Candidate{prior, noise})
		}
	}
	return out
}

// EndOfGrid returns a note where the standard deviation v of the weights or of the noise, as what says, is an end of a grid from lo to
// hi. The note ends with what to try. There is none where the grid is a single number.
func EndOfGrid(what string, v, lo, hi float64, try string) []string {
	at := slices.IndexFunc([]float64{lo, hi}, func(end float64) bool { return math.Abs(v-end) <= 1e-9*end })
	if at < 0 || !(lo < hi) {
		return nil
	}
	return []string{fmt.Sprintf("The %s standard deviation %.4g is the %s of the grid, so that the best one may lie beyond: try %s.",
		what, v, []string{"smallest", "largest"}[at], try)}
}

// LogSpaced returns n ≥ 1 numbers from lo to hi, both positive. The ratio of neighbours is
// the same everywhere.
func LogSpaced(lo, hi float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = lo * math.Pow(hi/lo, float64(i)/float64(max(1, n-1)))
	}
	return out
}

// Best returns what try makes of the candidate of all with the least negative log-likelihood of the
// held-out rows, which is the second result of try, and this value. Best ends with the error of
// try. It is also an error, which calls the candidates what, if no value is finite.
func Best[C, T any](all []C, what string, try func(C) (T, float64, error)) (best T, nll float64, err error) {
	nll = math.Inf(1)
	for _, c := range all {
		t, v, err := try(c)
		if err != nil {
			return best, nll, err
		}
		if v < nll {
			best, nll = t, v
		}
	}
	if math.IsInf(nll, 1) {
		err = fmt.Errorf("no finite negative log-likelihood of the validation rows with any of %d %s", len(all), what)
	}
	return best, nll, err
}

// MeanNLLOfEach returns the mean over N rows of the negative log predictive density of targets y
// [N·W·C] under the observation model l, each of the C outputs by itself. The latent function has the
// mean [N·C], and for row n the variances that variances writes to v [C]. Several threads call variances.
func MeanNLLOfEach(l likelihood.Likelihood, y, mean []float64, outputs int, variances func(n int, v []float64)) float64 {
	c, n := outputs, len(mean)/outputs
	w := len(y) / max(1, n)
	return -meanOf(n, func(from, to int, logP []float64) {
		v := make([]float64, c)
		for i := from; i < to; i++ {
			variances(i, v)
			logP[i] = l.LogMarginal(y[i*w:(i+1)*w], mean[i*c:(i+1)*c], v)
		}
	})
}
