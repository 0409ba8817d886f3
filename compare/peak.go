package compare

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// peakEvery is the time between two looks at the memory.
const peakEvery = 5 * time.Millisecond

// peak calls f and returns the most bytes that objects on the heap took meanwhile, less the bytes that they
// took before. Objects that are no longer used count until the runtime has collected them.
func peak(f func()) int64 {
	runtime.GC()
	before := heap()
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
	done <- struct{}{}
	return <-ended - before
}

// heap returns the number of bytes of objects on the heap.
func heap() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}
