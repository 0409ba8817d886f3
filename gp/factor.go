package gp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
)

// ErrJitter is wrapped where a kernel among points stays singular however much jitter is
// added.
var ErrJitter = errors.New("the kernel among the inducing points is singular")

// Factor returns the Cholesky factor R [m,m], lower triangular, of a kernel k [m,m] plus a
// jitter on its diagonal. The jitter is a fraction of the mean of the diagonal: the least
// fraction with which every pivot is well above rounding. This fraction is the argument least, or
// 1e-13, 1e-12, … or 1e-5.
func Factor(m int, k []float64, least float64) (r []float64, jitter float64, err error) {
	mean := MeanDiagonal(m, k)
	if r, jitter = jittered(m, k, jitters{ctx: context.Background(), scale: mean, least: least, first: 1e-13, end: 1e-4, pivot: 1e-13 * mean}); r != nil {
		return r, jitter, nil
	}
	return nil, jitter, fmt.Errorf("%w: no Cholesky factor with jitter up to %g of its mean diagonal %g", ErrJitter, jitter, mean)
}

// jitters are what jittered adds to a diagonal, as fractions of scale: least, and then, ten times
// as much each time, the numbers from first to below end.
type jitters struct {
	ctx               context.Context // no jitter is tried after its end
	scale             float64         // of the matrix
	least, first, end float64         // fractions of scale
	pivot             float64         // the square of every pivot has to be larger
}

// jittered returns the lower triangular Cholesky factor [m,m] of a [m,m] with the first jitter on
// its diagonal that gives the factor large enough pivots, and the jitter. Where none does, the
// factor is nil, and the jitter is the first that was not tried.
func jittered(m int, a []float64, j jitters) (r []float64, jitter float64) {
	for jitter = j.least; jitter < j.end && j.ctx.Err() == nil; jitter = max(j.first, 10*jitter) {
		r = slices.Clone(a)
		for i := range m {
			r[i*m+i] += jitter * j.scale
		}
		if kernel.Cholesky(m, r, m) < 0 && leastPivot(m, r) > j.pivot {
			return r, jitter
		}
	}
	return nil, jitter
}

// MeanDiagonal returns the mean of the diagonal of k [m,m].
func MeanDiagonal(m int, k []float64) float64 {
	mean := 0.0
	for i := range m {
		mean += k[i*m+i] / float64(m)
	}
	return mean
}

// leastPivot returns the smallest square of a diagonal element of r [m,m].
func leastPivot(m int, r []float64) float64 {
	least := math.Inf(1)
	for i := range m {
		least = min(least, r[i*m+i]*r[i*m+i])
	}
	return least
}
