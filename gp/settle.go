package gp

import "fmt"

// bluntest is the largest share of the prior variance that rounding in float64 may take from a
// variance.
const bluntest = 1e-6

// Settle sets variances that rounding has made negative to 0, with their covariances, in the
// covariances cov [n·C·C] of inputs whose prior variances are prior [n·C]. A variance that is
// negative by more than a millionth of the prior variance is an error, which names the input. The
// inputs have the numbers rows[first], rows[first+1], …, or first, first+1, … where rows is nil.
func Settle(cov, prior []float64, rows []int, first int) error {
	if len(prior) == 0 {
		return nil
	}
	c := len(cov) / len(prior)
	for i, k := range prior {
		block, d := cov[i/c*c*c:(i/c+1)*c*c], i%c
		switch v := block[d*c+d]; {
		case v >= 0:
		case v >= -bluntest*k:
			for j := range c {
				block[d*c+j], block[j*c+d] = 0, 0
			}
		default:
			row := first + i/c
			if rows != nil {
				row = rows[row]
			}
			return fmt.Errorf("row %d (counting from 0): the variance of output %d is %g, expected a number from 0 to the prior variance %g", row, d, v, k)
		}
	}
	return nil
}
