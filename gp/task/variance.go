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
func settled(g gp.Gaussian, unit float64, first int) (gp.Gaussian, error) {
	copied := false
	for i := range g.N() {
		negative, err := negative(g, i, unit)
		if err != nil {
			return g, fmt.Errorf("row %d (counting from 0): %w", first+i, err)
		}
		if negative && !copied {
			g.Cov, copied = slices.Clone(g.Cov), true
		}
		if negative {
			clip(g, i)
		}
	}
	return g, nil
}

// negative reports whether input i has a negative variance that rounding explains.
func negative(g gp.Gaussian, i int, unit float64) (bool, error) {
	c, block := g.Outputs(), g.Block(i)
	if j, v := kernel.FirstNonFinite(block); j >= 0 {
		at := j * c / len(block) // where variances are alone it is j
		return false, fmt.Errorf("the covariance of outputs %d and %d is %g, expected a finite number", at, j%c, v)
	}
	largest, least := 0.0, 0.0
	for k := range c {
		v := g.Variance(i, k)
		largest, least = max(largest, v), min(least, v)
	}
	if -least > roundingShare*(unit+largest) {
		return false, fmt.Errorf("a latent variance of %g in the network's units, expected none below 0", least)
	}
	return least < 0, nil
}

// clip sets negative variances of input i to 0, with their covariances.
func clip(g gp.Gaussian, i int) {
	for k := range g.Outputs() {
		if g.Variance(i, k) < 0 {
			g.Forget(i, k)
		}
	}
}
