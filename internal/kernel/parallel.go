package kernel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Job is work that can be cut into numbered parts.
type Job interface {
	// Run does part number part of parts, 0 <= part < parts. Parts run
	// concurrently, so they must write to different places.
	Run(part, parts int)
}

// spins is how often an idle worker looks for work before it blocks: some 100
// microseconds, which is what waking it takes on a virtual machine and longer than most
// pauses between the products of a training step.
const spins = 40000

// pool is the one set of workers. A caller that finds it taken, be it another
// goroutine or a job inside a job, runs its parts itself.
var pool struct {
	taken   sync.Mutex // held for the whole of one parallel job
	workers []*worker  // started so far; guarded by taken
	threads atomic.Int32

	// The job in progress: written by the holder of taken while open is
	// false and active is zero, read by workers counted in active.
	job   Job
	parts int
	next  atomic.Int32 // the next part to hand out

	open   atomic.Bool   // workers may join
	active atomic.Int32  // workers that are looking at the job
	epoch  atomic.Uint32 // counts jobs; spinning workers watch it
}

type worker struct {
	index  int
	asleep atomic.Bool
	wake   chan struct{}
}

func init() { SetThreads(0) }

// SetThreads sets how many threads, the caller included, work on one job;
// n < 1 means runtime.GOMAXPROCS(0), the default.
func SetThreads(n int) {
	if n < 1 {
		n = runtime.GOMAXPROCS(0)
	}
	pool.threads.Store(int32(n))
}

// Threads returns the number of threads that work on one job.
func Threads() int { return int(pool.threads.Load()) }

// partsPerThread is the number of parts per thread into which work is cut: several, since
// other programs hold up threads.
const partsPerThread = 4

// Parts returns the number of parts for Parallel in which to cut units of work, an amount
// in all, of which each part gets at least so much: 1 where there is one thread, else
// several for each.
func Parts(units, amount, least int) int {
	if Threads() == 1 {
		return 1
	}
	return max(1, min(partsPerThread*Threads(), units, amount/least))
}

// Parallel runs j.Run(i, parts) for every i in 0..parts-1 on the workers and
// the calling goroutine, and returns when all are done. A nested call, and a
// call made while another goroutine's job is running, runs its parts one after
// the other on the caller. A panic in a part ends the program unless the part
// ran on the caller.
func Parallel(parts int, j Job) {
	threads := Threads()
	if parts <= 1 || threads <= 1 || !pool.taken.TryLock() {
		for i := range parts {
			j.Run(i, parts)
		}
		return
	}
	defer finish()
	pool.job, pool.parts = j, parts
	pool.next.Store(0)
	pool.open.Store(true)
	pool.epoch.Add(1)
	rouse(min(parts, threads) - 1)
	runParts()
}

// rouse starts or wakes the first n workers.
func rouse(n int) {
	for len(pool.workers) < n {
		w := &worker{index: len(pool.workers), wake: make(chan struct{}, 1)}
		pool.workers = append(pool.workers, w)
		go w.loop()
	}
	for _, w := range pool.workers[:n] {
		if w.asleep.CompareAndSwap(true, false) {
			w.wake <- struct{}{}
		}
	}
}

// runParts takes parts until none is left.
func runParts() {
	j, parts := pool.job, pool.parts
	for {
		i := int(pool.next.Add(1)) - 1
		if i >= parts {
			return
		}
		j.Run(i, parts)
	}
}

// finish closes the job, waits for the workers inside it and frees the pool.
func finish() {
	pool.open.Store(false)
	for i := 1; pool.active.Load() != 0; i++ {
		if i%spins == 0 {
			runtime.Gosched()
		}
	}
	pool.job = nil
	pool.taken.Unlock()
}

func (w *worker) loop() {
	seen := pool.epoch.Load() - 1
	for {
		seen = w.wait(seen)
		if w.index >= Threads()-1 {
			continue
		}
		// Join before looking: finish waits for everyone counted here, so an
		// open job cannot be replaced while we hold it.
		pool.active.Add(1)
		if pool.open.Load() {
			runParts()
		}
		pool.active.Add(-1)
	}
}

// wait returns the number of the current job once it differs from seen.
func (w *worker) wait(seen uint32) uint32 {
	for i := 1; i < spins; i++ {
		if e := pool.epoch.Load(); e != seen {
			return e
		}
		if i%64 == 0 {
			runtime.Gosched()
		}
	}
	w.asleep.Store(true)
	// A job may have come between the last look and falling asleep. If its
	// caller saw us asleep a wake-up is on its way and must be received.
	if e := pool.epoch.Load(); e != seen && w.asleep.CompareAndSwap(true, false) {
		return e
	}
	<-w.wake
	return pool.epoch.Load()
}
