package serve

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/go-valla/valla/gp"
)

// errFull says that the queue has no room.
var errFull = errors.New("the queue is full")

// queue computes the requests to one version. Requests that wait at the same time are
// computed together.
type queue struct {
	version *version
	jobs    chan *job
	rows    int           // of a batch, at most, unless a single request has more
	delay   time.Duration // that a batch waits for company
	observe func(requests, rows int, waited time.Duration)
	done    sync.WaitGroup
}

// job is a request in the queue.
type job struct {
	ctx    context.Context
	x      []float64 // [n·D]
	n      int
	queued time.Time

	g       gp.Gaussian // the answer, a copy of the job's own
	err     error
	started time.Time // when the batch was computed, which had so many rows
	ended   time.Time
	batch   int
	end     chan struct{} // closed when the answer is there
}

func newQueue(v *version, o Options) *queue {
	q := &queue{version: v, jobs: make(chan *job, o.Queue), rows: o.BatchRows, delay: o.BatchDelay, observe: o.metrics.batch(v.name)}
	for range runtime.GOMAXPROCS(0) {
		q.done.Go(q.work)
	}
	return q
}

// close waits until all jobs are done. No job may come any more.
func (q *queue) close() {
	close(q.jobs)
	q.done.Wait()
}

// latents computes the distributions at n rows x, or returns errFull at once, or ctx's error
// when it ends first.
func (q *queue) latents(ctx context.Context, x []float64, n int) (gp.Gaussian, error) {
	j := &job{ctx: ctx, x: x, n: n, queued: time.Now(), end: make(chan struct{})}
	select {
	case q.jobs <- j:
	default:
		return gp.Gaussian{}, errFull
	}
	select {
	case <-j.end:
		j.trace()
		return j.g, j.err
	case <-ctx.Done():
		return gp.Gaussian{}, ctx.Err()
	}
}

// work takes batches of jobs until the queue is closed.
func (q *queue) work() {
	var b batch
	for first := range q.jobs {
		b.reset()
		b.add(first)
		q.gather(&b)
		if len(b.jobs) > 0 {
			q.observe(len(b.jobs), b.n, time.Since(b.jobs[0].queued))
			b.run(q.version)
		}
	}
}

// gather adds the jobs that wait already and, within the delay, those that come.
func (q *queue) gather(b *batch) {
	var late <-chan time.Time
	if q.delay > 0 {
		timer := time.NewTimer(q.delay)
		defer timer.Stop()
		late = timer.C
	}
	for b.n < q.rows {
		select {
		case j, ok := <-q.jobs:
			if !ok {
				return
			}
			b.add(j)
			continue
		default:
		}
		if late == nil {
			return
		}
		select {
		case j, ok := <-q.jobs:
			if !ok {
				return
			}
			b.add(j)
		case <-late:
			return
		}
	}
}

// batch is the jobs that are computed together.
type batch struct {
	jobs []*job
	n    int
	x    []float64
	g    gp.Gaussian
}

func (b *batch) reset() { b.jobs, b.n, b.x = b.jobs[:0], 0, b.x[:0] }

// add takes a job in, unless nobody waits for it any more.
func (b *batch) add(j *job) {
	if j.err = j.ctx.Err(); j.err != nil {
		close(j.end)
		return
	}
	b.jobs, b.n = append(b.jobs, j), b.n+j.n
}

// run computes the jobs. If that fails each is computed alone, so that all others succeed.
func (b *batch) run(v *version) {
	started := time.Now()
	b.compute(v)
	for _, j := range b.jobs {
		j.started, j.ended, j.batch = started, time.Now(), b.n
		close(j.end)
	}
}

func (b *batch) compute(v *version) {
	x := b.jobs[0].x
	if len(b.jobs) > 1 {
		for _, j := range b.jobs {
			b.x = append(b.x, j.x...)
		}
		x = b.x
	}
	ctx := context.Background()
	if len(b.jobs) == 1 {
		ctx = b.jobs[0].ctx
	}
	if err := v.predict.Latent(ctx, x, &b.g); err != nil && len(b.jobs) > 1 {
		for _, j := range b.jobs {
			j.err = v.predict.Latent(j.ctx, j.x, &j.g)
		}
		return
	} else if err != nil {
		b.jobs[0].err = err
		return
	}
	b.scatter()
}

// scatter gives each job its part of the results.
func (b *batch) scatter() {
	at := 0
	for _, j := range b.jobs {
		j.g.Set(b.g.Rows(at, j.n))
		at += j.n
	}
}
