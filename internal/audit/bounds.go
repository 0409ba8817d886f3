package audit

import (
	"gonum.org/v1/gonum/mathext"

	"github.com/go-valla/valla/internal/kernel"
)

// Measure is a number that was estimated, with bounds that hold it with a probability.
type Measure struct {
	Value float64 // estimate
	Lower float64 // lower bound
	Upper float64 // upper bound
}

// share returns a share of k of n rows with the bounds of Clopper and Pearson (1934), each of which fails with a probability
// of at most tail. k need not be a whole number.
func share(k, n, tail float64) Measure {
	k = min(max(k, 0), n)
	m := Measure{Value: k / n, Upper: 1}
	if k > 0 {
		m.Lower = mathext.InvRegIncBeta(k, n-k+1, tail)
	}
	if k < n {
		m.Upper = mathext.InvRegIncBeta(k+1, n-k, 1-tail)
	}
	return m
}

// Share returns a share of k of n rows with bounds that hold it with a probability of 95 %.
func Share(k float64, n int) Measure { return share(k, float64(n), 0.025) }

// Mean returns the mean of values, with bounds that hold it with a probability of 95 % for many rows.
func Mean(v []float64) Measure {
	if len(v) == 1 {
		return Around(v[0], 0)
	}
	return Around(kernel.Mean(v), kernel.StandardError(v))
}

// Around returns an estimate with a standard error.
func Around(value, standardError float64) Measure {
	return Measure{value, value - 1.96*standardError, value + 1.96*standardError}
}
