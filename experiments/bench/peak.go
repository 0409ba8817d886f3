package bench

import (
	"context"
	"time"

	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/internal/kernel"
)

// peak is the speed of one core in products of large matrices, in operations a second.
type peak struct {
	Double float64 `json:"float64"` // of float64
	Single float64 `json:"float32"` // of float32
}

// newPeak measures the speed of a core.
func newPeak() peak {
	defer setThreads(setThreads(1))
	return peak{productSpeed[float64](), productSpeed[float32]()}
}

// peakTime is how long products are made.
var peakTime = 500 * time.Millisecond

// productSpeed returns the speed of the fastest of some products of 512×512 matrices, which other work on the machine disturbs least,
// by CPU time where the system tells it.
func productSpeed[T kernel.Float]() float64 {
	const n = 512
	now := clock(processClock)
	if _, err := now(); err != nil {
		now = wall()
	}
	a, b, c := make([]T, n*n), make([]T, n*n), make([]T, n*n)
	for i := range a {
		a[i], b[i] = T(i%7)-3, T(i%5)-2
	}
	best := time.Hour
	for sum := time.Duration(0); sum < peakTime; {
		took, err := now.timed(context.Background(), func(context.Context) error {
			kernel.Gemm(false, false, n, n, n, 1, a, n, b, n, 0, c, n)
			return nil
		})
		if err != nil { // the clock has worked above
			break
		}
		best, sum = min(best, max(took, 1)), sum+took
	}
	return 2 * n * n * n / best.Seconds()
}

// floor returns the seconds that a core needs at least for operations, and 0 where these are not known.
func (p peak) floor(o result.Operations) float64 {
	if o == (result.Operations{}) {
		return 0
	}
	return o.Double/p.Double + o.Single/p.Single
}
