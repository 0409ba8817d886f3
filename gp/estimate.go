package gp

import (
	"context"
	"sync"
	"time"

	"github.com/go-valla/valla/internal/kernel"
)

// Estimate says what a fit will take.
type Estimate struct {
	Seconds float64
	Bytes   int64  // beside the data
	Cheaper string // a choice of settings that takes less, as a phrase; "" if there is none
}

// Estimator is implemented by Settings that can tell beforehand what a fit takes.
type Estimator interface {
	// Estimate returns the cost of Fit with the same arguments. It may make a small part of the
	// work to measure it, and writes no files. Its errors are those of Fit.
	Estimate(ctx context.Context, p Problem, r Run) (Estimate, error)
}

// Speed returns how many multiplications of large matrix products, each with an addition, the
// machine makes in a second. It is measured once, in some milliseconds.
var Speed = sync.OnceValue(func() float64 {
	const n, turns = 384, 3
	a, c := make([]float64, n*n), make([]float64, n*n)
	best := time.Duration(1<<63 - 1)
	for range turns {
		start := time.Now()
		kernel.Gemm(false, true, n, n, n, 1, a, n, a, n, 0, c, n)
		best = min(best, max(time.Since(start), time.Microsecond))
	}
	return n * n * n / best.Seconds()
})
