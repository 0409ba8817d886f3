package laplace

import (
	"sync/atomic"
	"testing"

	"github.com/go-valla/valla/internal/kernel"
)

// TestThreadsChange: another goroutine may change the number of threads while a job is prepared.
func TestThreadsChange(t *testing.T) {
	defer kernel.SetThreads(0)
	var ended atomic.Bool
	stopped := make(chan bool)
	go func() {
		for i := 0; !ended.Load(); i++ {
			kernel.SetThreads(1 + i%2*15)
		}
		close(stopped)
	}()
	const count, width = 16, 2
	rows := make([]float64, count*width)
	b := batch{scanner: &scanner{outputs: 1}, count: count, lambda: &lambda{make([]float64, count), make([]float64, count)}}
	for range 100_000 {
		var w weighting[float64]
		w.weighted(b, make([]float64, len(rows)), rows, width)
		var s squaring[float64]
		s.sum(b, make([]float64, len(rows)), rows, width)
	}
	ended.Store(true)
	<-stopped
}
