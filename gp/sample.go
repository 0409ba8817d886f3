package gp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// ErrNotCovariance is wrapped by the error about a joint covariance whose negative eigenvalues
// are too large to come from rounding.
var ErrNotCovariance = errors.New("the covariance is not positive semi-definite")

// Sample draws n functions from p and returns their values [n, N·C] at the inputs x [N,…].
// Each row is one function, in the order of [JointPosterior.Joint]. The same state of rng
// gives the same samples.
//
// Joint covariances are usually singular, and rounding gives them small negative eigenvalues.
// Sample therefore adds a jitter to the variances if there is no Cholesky factor without one.
// It takes the smallest that suffices of 1e-12, 1e-11, … 1e-3 of the largest variance. If
// none does, the error wraps [ErrNotCovariance]. In float64 the jitter is far too small to
// be seen in samples.
func Sample(ctx context.Context, p JointPosterior, x *tensor.Dense, n int, rng *rand.Rand) (*tensor.Dense, error) {
	if n < 1 {
		return nil, fmt.Errorf("gp: sample: %d samples, expected at least one", n)
	}
	mean, cov, err := p.Joint(ctx, x)
	if err != nil {
		return nil, fmt.Errorf("gp: sample: %w", err)
	}
	m := mean.Shape().TotalSize()
	root, err := covarianceRoot(ctx, m, cov.Float64s())
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("gp: sample: %w", err)
	}
	block := min(n, max(16, sampledTogether/(m*m)))
	noise, out := make([]float64, block*m), make([]float64, 0, n*m)
	for first := 0; first < n; first += block {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows := min(block, n-first)
		for i := range noise[:rows*m] {
			noise[i] = rng.NormFloat64()
		}
		for range rows {
			out = append(out, mean.Float64s()...)
		}
		kernel.Gemm(false, true, rows, m, m, 1, noise, m, root, m, 1, out[first*m:], m)
	}
	return dense.Of(out, n, m), nil
}

// sampledTogether is the number of products between two looks at the context, some hundredths of a second.
const sampledTogether = 1 << 29

// covarianceRoot returns the lower triangular L with LLᵀ = a + jitter, a [m,m]. The end of ctx is an error.
func covarianceRoot(ctx context.Context, m int, a []float64) ([]float64, error) {
	largest := 0.0
	for i := range m {
		largest = max(largest, a[i*m+i])
	}
	if !slices.ContainsFunc(a, func(v float64) bool { return v != 0 }) {
		return make([]float64, len(a)), nil // all variances are zero
	}
	if root, _ := jittered(m, a, jitters{ctx: ctx, scale: largest, first: 1e-12, end: 2e-3}); root != nil {
		return root, nil
	}
	return nil, fmt.Errorf("%w: no Cholesky factor of the %d×%d matrix with a jitter of 1e-3 of the largest variance %g",
		ErrNotCovariance, m, m, largest)
}
