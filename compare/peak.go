package compare

import (
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/go-valla/valla/internal/cputime"
)

// peakEvery is the time between two looks at the memory.
const peakEvery = 5 * time.Millisecond

// cost is what a fit took.
type cost struct {
	bytes   int64   // the most that objects on the heap took meanwhile, less what they took before
	seconds float64 // of processor time
}

// costOf calls f and returns what it took. Objects that are no longer used count until the runtime has collected them.
func costOf(f func()) cost {
	runtime.GC()
	before, start := heap(), cputime.Seconds()
	most, done, ended := before, make(chan struct{}), make(chan int64)
	go func() {
		tick := time.NewTicker(peakEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				most = max(most, heap())
			case <-done:
				ended <- max(most, heap())
				return
			}
		}
	}()
	f()
	seconds := cputime.Seconds() - start
	done <- struct{}{}
	return cost{<-ended - before, seconds}
}

// heap returns the number of bytes of objects on the heap.
func heap() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}
