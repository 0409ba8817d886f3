package gp

import "fmt"

// bluntest is the largest share of the prior variance that rounding in float64 may take from a
// variance.
const bluntest = 1e-6

// Settle sets variances of g that rounding has made negative to 0, with their covariances. The prior variances of
// the inputs are prior [N·C]; nil does nothing. A variance that is negative by more than a millionth of the prior variance is an error, which names the input. The
// inputs have the numbers rows[first], rows[first+1], …, or first, first+1, … where rows is nil.
func Settle(g Gaussian, prior []float64, rows []int, first int) error {
	c := g.Outputs()
	for at, k := range prior {
		i, d := at/c, at%c
		switch v := g.Variance(i, d); {
		case v >= 0:
		case v >= -bluntest*k:
			g.Forget(i, d)
		default:
			row := first + i
			if rows != nil {
				row = rows[row]
			}
			return &RowsError{row, true, fmt.Errorf("the variance of output %d is %g, expected a number from 0 to the prior variance %g", d, v, k)}
		}
	}
	return nil
}
