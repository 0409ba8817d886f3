package gp

import (
	"context"
	"sync"
	"time"

	"github.com/go-valla/valla/internal/kernel"
)

// Estimate says what a fit will take.
type Estimate struct {
	Seconds float64 // of the whole fit
	Bytes   int64   // beside the data
	Cheaper string  // a choice of settings that takes less, as a phrase; "" if there is none, or the fit is not Long

	CheaperSeconds float64 // what the cheaper choice takes; 0: not known
}

// Long is the number of seconds above which the estimate of a fit names a cheaper choice.
const Long = 60

// Estimator is implemented by Settings that can tell beforehand what a fit takes.
type Estimator interface {
	// Estimate returns the cost of Fit with the same arguments. It may make a small part of the
	// work to measure it, and writes no files. It has the errors of Fit.
	Estimate(ctx context.Context, p Problem, r Run) (Estimate, error)
}

// Speed returns how many multiplications of large matrix products, each with an addition, the
// machine makes in a second, whatever else it does. It is measured once, in some 50 milliseconds.
var Speed = sync.OnceValue(func() float64 {
	const n, enough = 384, 0.05
	a, c := make([]float64, n*n), make([]float64, n*n)
	start := time.Now()
	for turns := 1.0; ; turns++ {
		kernel.Gemm(false, true, n, n, n, 1, a, n, a, n, 0, c, n)
		if took := time.Since(start).Seconds(); took > enough {
			return turns * n * n * n / took
		}
	}
})
