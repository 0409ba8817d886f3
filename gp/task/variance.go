package task

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/kernel"
)

// roundingShare is the largest share of a row's variance that rounding may make negative.
const roundingShare = 1e-6

// settled returns g with 0 in place of variances that rounding has made negative. The rule is the same for all
// predictions: a variance below 0 becomes 0 if it is small beside unit plus the largest variance in its row;
// otherwise it is an error that names the row. unit is the variance, in the network's units, beside which latent
// variances show in predictions: the noise variance in regression, and 1 in classification. A covariance that is
// not finite is an error too. first is the number of the first row. The arrays of g do not change.
func settled(g gp.Gaussian, c int, unit float64, first int) (gp.Gaussian, error) {
	copied, w := false, len(g.Cov)/max(1, len(g.Mean)/c)
	for i := range len(g.Mean) / c {
		negative, err := negative(g.Cov[i*w:(i+1)*w], c, unit)
		if err != nil {
			return g, fmt.Errorf("row %d (counting from 0): %w", first+i, err)
		}
		if negative && !copied {
			g.Cov, copied = slices.Clone(g.Cov), true
		}
		if negative {
			clip(g.Cov[i*w:(i+1)*w], c)
		}
	}
	return g, nil
}

// resized returns v with n elements of any values.
func resized(v []float64, n int) []float64 { return slices.Grow(v[:0], n)[:n] }

// negative reports whether a covariance [C,C], or variances [C] alone, have a negative variance that rounding explains.
func negative(block []float64, c int, unit float64) (bool, error) {
	if j, v := kernel.FirstNonFinite(block); j >= 0 {
		at := j * c / len(block) // where variances are alone it is j
		return false, fmt.Errorf("the covariance of outputs %d and %d is %g, expected a finite number", at, j%c, v)
	}
	largest, least := 0.0, 0.0
	for k := range c {
		v := block[k*step(block, c)]
		largest, least = max(largest, v), min(least, v)
	}
	if -least > roundingShare*(unit+largest) {
		return false, fmt.Errorf("a latent variance of %g in the network's units, expected none below 0", least)
	}
	return least < 0, nil
}

// step returns the distance of two variances in a covariance [C,C], or in variances [C] alone.
func step(block []float64, c int) int {
	if len(block) == c {
		return 1
	}
	return c + 1
}

// clip sets negative variances in a covariance [C,C] to 0, with their covariances, or in variances [C] alone.
func clip(block []float64, c int) {
	if len(block) == c {
		for k, v := range block {
			block[k] = max(v, 0)
		}
		return
	}
	for k := range c {
		if block[k*c+k] >= 0 {
			continue
		}
		for j := range c {
			block[k*c+j], block[j*c+k] = 0, 0
		}
	}
}
