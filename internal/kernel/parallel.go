package kernel

import (
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// Job is work that can be cut into numbered parts.
type Job interface {
	// Run does part number part of parts, 0 <= part < parts. Parts run
	// concurrently, so they must write to different places.
	Run(part, parts int)
}

const (
	// linger is how long an idle worker looks for work before it falls asleep: longer than most
	// pauses between the jobs of a training step.
	linger = 50 * time.Microsecond

	// patience is how long jobs may take, while a worker sleeps, before the worker is woken. A wake-up
	// costs the caller some 10 microseconds, and the worker starts up to 100 microseconds later. A
	// wake-up comes too late for all parts if the work is over, or if other programs leave no processor to
	// the worker. After each such wake-up patience doubles, up to mostDoublings times.
	patience      = 100 * time.Microsecond
	mostDoublings = 5

	// A worker that has taken a part and then lost its processor to another program holds up the caller. A
	// caller that waits for workers longer than heldUp, and than tardy times what it took for its own parts, has met
	// this case. It then runs jobs alone for rest times the wait, and for mostAlone at most, so that
	// on a busy machine it waits for a small share of the time. Without this some fits of 1.4 seconds of processor time took 12 to 73
	// beside three busy processes on two cores; with it, at most 2.
	heldUp    = 500 * time.Microsecond
	tardy     = 2
	rest      = 10
	mostAlone = 10 * time.Second

	// looks is the number of times that a waiting thread looks for work before it reads the clock.
	looks = 256
)

// pool is the only set of workers. The caller of a job runs all parts itself if the pool is taken, by
// another goroutine or because a job starts a job of its own.
//
// The state that workers watch lies on a cache line of its own, and so do the numbers that workers
// write, because a line takes up to a microsecond from one processor to another.
var pool struct {
	taken   atomic.Bool               // whether a parallel job is in progress
	alone   atomic.Int64              // until when jobs run on their callers alone; 0 means never
	threads atomic.Int32              // number of threads of a job, see SetThreads
	workers atomic.Pointer[[]*worker] // workers started so far; only the goroutine that has taken the pool replaces the list

	// Only the goroutine that has taken the pool uses these.
	own    int           // parts of the job that the caller took
	begin  time.Duration // when the job began
	total  int64         // parts that workers have finished, or will have when the job is done
	missed time.Duration // spent on jobs that lacked workers, since the last wake-up

	_     [128]byte     // separates cache lines
	state atomic.Uint64 // of the job in progress
	job   Job           // written while no part is open; read by threads that have taken a part

	_    [128]byte    // separates cache lines
	done atomic.Int64 // parts that workers have finished
	late atomic.Int64 // doublings of patience
	_    [128]byte    // separates cache lines
}

// A state holds the number of workers that may take parts of the job, the number of parts, and
// the number of the next part.
const (
	partBits = 24
	maxParts = 1<<partBits - 1
)

func stateOf(workers, parts, next int) uint64 {
	return uint64(workers)<<(2*partBits) | uint64(parts)<<partBits | uint64(next)
}

func split(state uint64) (workers, parts, next int) {
	return int(state >> (2 * partBits)), int(state >> partBits & maxParts), int(state & maxParts)
}

// take takes the next part of the job for the worker with the given index, or for the caller, whose index
// is -1. ok is false if no part is left.
func take(index int) (part, parts int, ok bool) {
	for {
		s := pool.state.Load()
		workers, parts, next := split(s)
		if next >= parts || index >= workers {
			return 0, 0, false
		}
		if pool.state.CompareAndSwap(s, s+1) {
			return next, parts, true
		}
	}
}

// worker is a goroutine that runs parts of jobs.
type worker struct {
	index  int           // number of the worker, from 0 on
	asleep atomic.Bool   // whether the worker waits for wake
	wake   chan struct{} // receives one value for each wake-up
}

// start is the origin of all times.
var start = time.Now()

func init() {
	pool.workers.Store(new([]*worker))
	SetThreads(0)
}

// SetThreads sets the number of threads that work on one job, with the caller. If n is less
// than 1, the number is runtime.GOMAXPROCS(0), which is also the default.
func SetThreads(n int) {
	if n < 1 {
		n = runtime.GOMAXPROCS(0)
	}
	pool.threads.Store(int32(min(n, 1<<15)))
}

// Threads returns the number of threads that work on one job.
func Threads() int { return int(pool.threads.Load()) }

// partsPerThread is the number of parts per thread into which work is cut. It is more than
// one, because other programs may hold up a thread.
const partsPerThread = 4

// Parts returns the number of parts into which to cut work for Parallel. The work consists of units that
// cannot be cut, and has a total amount, such as a number of multiplications. For one thread Parts returns
// 1. For several threads it returns up to partsPerThread parts per thread, at most one part per unit, and
// no more parts than leave the amount least to each part.
func Parts(units, amount, least int) int {
	if Threads() == 1 {
		return 1
	}
	return max(1, min(partsPerThread*Threads(), units, amount/least))
}

// Span is a Job of N items, of which a part does its share in one go.
type Span struct {
	N int                // number of items
	F func(from, to int) // does the items from … to−1
}

// Run implements Job.
func (s Span) Run(part, parts int) { s.F(s.N*part/parts, s.N*(part+1)/parts) }

// Parallel runs j.Run(i, parts) for every i in 0..parts-1 on the workers and
// the calling goroutine, and returns when all are done. A nested call, and a
// call made while another goroutine's job is running, runs its parts one after
// the other on the caller. A panic in a part ends the program unless the part
// ran on the caller.
func Parallel(parts int, j Job) { Share(parts, long, j) }

// long is a cost for which workers are always woken.
const long = math.MaxInt32

// Share is Parallel for a job that may be short. The job takes about cost nanoseconds on one thread.
// Workers that are awake join at once, so that even a job of a few microseconds gains. Workers that sleep
// are woken only for a long job, or for many short jobs in a row.
func Share(parts, cost int, j Job) {
	threads := Threads()
	if parts <= 1 || parts > maxParts || threads <= 1 || alone() || !pool.taken.CompareAndSwap(false, true) {
		for i := range parts {
			j.Run(i, parts)
		}
		return
	}
	defer finish()
	helpers := min(parts, threads) - 1
	engage(helpers)
	pool.job, pool.own, pool.begin = j, 0, time.Since(start)
	pool.state.Store(stateOf(helpers, parts, 0))
	if sleeper(helpers) == nil || hurry(helpers, time.Duration(cost)) {
		for runPart() {
		}
		return
	}
	for runPart() {
	}
	pool.missed += time.Since(start) - pool.begin
}

// alone reports whether jobs run on their callers alone, see heldUp.
func alone() bool {
	until := pool.alone.Load()
	return until > 0 && int64(time.Since(start)) < until
}

// hurry wakes a worker if the job at hand and the jobs before that lacked workers take long enough. It
// reports whether it has woken a worker.
func hurry(helpers int, cost time.Duration) bool {
	if pool.missed+cost < patience<<pool.late.Load() {
		return false
	}
	pool.missed = 0
	rouse(helpers)
	return true
}

// engage starts workers until there are n. New workers sleep.
func engage(n int) {
	started := *pool.workers.Load()
	if len(started) >= n {
		return
	}
	workers := slices.Clone(started)
	for len(workers) < n {
		w := &worker{index: len(workers), wake: make(chan struct{}, 1)}
		w.asleep.Store(true)
		workers = append(workers, w)
		go w.loop()
	}
	pool.workers.Store(&workers)
}

// sleeper returns a sleeping worker among the first n workers, or nil.
func sleeper(n int) *worker {
	for _, w := range (*pool.workers.Load())[:n] {
		if w.asleep.Load() {
			return w
		}
	}
	return nil
}

// rouse wakes a sleeping worker among the first n workers, if there is one.
func rouse(n int) {
	if w := sleeper(n); w != nil && w.asleep.CompareAndSwap(true, false) {
		w.wake <- struct{}{}
	}
}

// runPart runs a part on the caller. It returns false if no part was left.
func runPart() bool {
	part, parts, ok := take(-1)
	if ok {
		pool.own++
		pool.job.Run(part, parts)
	}
	return ok
}

// finish closes the job, waits for the workers that have taken parts, and frees the pool.
func finish() {
	_, parts, taken := split(pool.state.Load())
	if taken < parts { // a part has panicked
		_, _, taken = split(pool.state.Swap(0))
	}
	pool.total += int64(taken - pool.own)
	await()
	pool.job = nil
	pool.taken.Store(false)
}

// await waits until the workers have finished their parts.
func await() {
	since := time.Duration(0)
	for i := 1; pool.done.Load() != pool.total; i++ {
		if pause(); i%looks != 0 {
			continue
		}
		now := time.Since(start)
		switch {
		case since == 0:
			since = now
		case now-since > heldUp:
			time.Sleep(heldUp / 10) // frees the processor, to which the system can move a worker
		case i%(8*looks) == 0:
			runtime.Gosched()
			yield() // to a worker that another program or this thread holds up
		}
	}
	if since > 0 {
		waited(since, time.Since(start))
	}
}

// waited notes that the caller of the job has waited for workers, and until when.
func waited(since, now time.Duration) {
	if wait := now - since; wait > heldUp && wait > tardy*(since-pool.begin) {
		pool.alone.Store(int64(now + min(rest*wait, mostAlone)))
	}
}

// loop runs parts of jobs, and sleeps where there are none.
func (w *worker) loop() {
	for {
		<-w.wake
		w.spread()
		useful := false
		for w.stay() {
			for {
				part, parts, ok := take(w.index)
				if !ok {
					break
				}
				useful = true
				pool.job.Run(part, parts)
				pool.done.Add(1)
			}
		}
		if useful {
			pool.late.Store(0)
		} else if pool.late.Load() < mostDoublings {
			pool.late.Add(1)
		}
	}
}

// spread wakes two more workers if there is work for them. These wake other workers in turn.
func (w *worker) spread() {
	if workers, parts, next := split(pool.state.Load()); next < parts {
		for range 2 {
			rouse(workers)
		}
	}
}

// stay waits until there may be a part for the worker. It returns false if the worker has been idle so
// long that it falls asleep.
func (w *worker) stay() bool {
	begin := time.Since(start)
	idle := begin // since when
	for i := 1; !w.wanted(); i++ {
		if pause(); i%looks != 0 {
			continue
		}
		yield() // to the caller, if the system runs both on one processor
		now := time.Since(start)
		if pool.taken.Load() {
			idle = now // others finish their parts, and the next job may follow at once
		}
		if now-idle > linger || now-begin > 4*linger {
			w.asleep.Store(true)
			// A caller may have seen the worker awake just before. If there is work, the worker stays,
			// unless a wake-up has been sent, which the worker must receive.
			return w.wanted() && w.asleep.CompareAndSwap(true, false)
		}
	}
	return true
}

// wanted reports whether there is a part for the worker.
func (w *worker) wanted() bool {
	workers, parts, next := split(pool.state.Load())
	return next < parts && w.index < workers
}
