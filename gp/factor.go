package gp

import (
	"errors"
	"fmt"
	"math"

	"github.com/go-valla/valla/internal/kernel"
)

// ErrJitter is wrapped where a kernel among points stays singular however much jitter is
// added.
var ErrJitter = errors.New("the kernel among the inducing points is singular")

// Factor returns the Cholesky factor R [m,m], lower triangular, of a kernel k [m,m] plus a
// jitter on its diagonal. The jitter is a fraction of the mean of the diagonal: the least
// with which every pivot is well above rounding, which is the argument least, or one of
// 1e-13, 1e-12, … 1e-5.
func Factor(m int, k []float64, least float64) (r []float64, jitter float64, err error) {
	mean := MeanDiagonal(m, k)
	for jitter = least; jitter < 1e-4; jitter = max(1e-13, 10*jitter) {
		r = append([]float64(nil), k...)
		for i := range m {
			r[i*m+i] += jitter * mean
		}
		if kernel.Cholesky(m, r, m) < 0 && leastPivot(m, r) > 1e-13*mean {
			return r, jitter, nil
		}
	}
	return nil, jitter, fmt.Errorf("%w: no Cholesky factor with jitter up to %g of its mean diagonal %g", ErrJitter, jitter, mean)
}

// MeanDiagonal returns the mean of the diagonal of k [m,m].
func MeanDiagonal(m int, k []float64) float64 {
	mean := 0.0
	for i := range m {
		mean += k[i*m+i] / float64(m)
	}
	return mean
}

func leastPivot(m int, r []float64) float64 {
	least := math.Inf(1)
	for i := range m {
		least = min(least, r[i*m+i]*r[i*m+i])
	}
	return least
}
