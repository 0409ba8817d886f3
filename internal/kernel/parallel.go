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

// spins is how often an idle worker looks for work before it blocks. It does so for some
// 100 microseconds: waking a worker takes as long on a virtual machine, and most pauses
// between the products of a training step are shorter.
const spins = 40000

// pool is the only set of workers. If it is taken, by another goroutine or because a job
// starts a job of its own, the caller runs all parts itself.
var pool struct {
	taken   sync.Mutex // held for the whole of one parallel job
	workers []*worker  // started so far; guarded by taken
	threads atomic.Int32

	// These describe the job in progress. The holder of taken writes them while open is
	// false and active is zero; the workers that active counts read them.
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

// SetThreads sets how many threads work on one job. The caller is one of them. If n is less
// than 1 the number is runtime.GOMAXPROCS(0), which is also the default.
func SetThreads(n int) {
	if n < 1 {
		n = runtime.GOMAXPROCS(0)
	}
	pool.threads.Store(int32(n))
}

// Threads returns the number of threads that work on one job.
func Threads() int { return int(pool.threads.Load()) }

// partsPerThread is the number of parts per thread into which work is cut. It is more than
// one because other programs may hold up a thread.
const partsPerThread = 4

// Parts returns into how many parts to cut work for Parallel. The work has units that
// cannot be cut and a total amount, such as a number of multiplications. On one thread it
// is one part. On several threads it is up to partsPerThread parts for each, but at most
// one for each unit, and no more than give each part the amount least.
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
		// The worker joins before it looks at the job: finish waits for all workers
		// that are counted here, so that no other job replaces an open one meanwhile.
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
	// caller saw this worker asleep, a wake-up is on its way and must be received.
	if e := pool.epoch.Load(); e != seen && w.asleep.CompareAndSwap(true, false) {
		return e
	}
	<-w.wake
	return pool.epoch.Load()
}
