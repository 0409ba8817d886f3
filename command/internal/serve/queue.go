package serve

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-valla/valla/gp"
)

// queue computes the requests to one version. It computes waiting requests together.
type queue struct {
	version *version                             // version that predicts
	jobs    chan *job                            // waiting requests
	rows    int                                  // most rows of a batch of several requests
	delay   time.Duration                        // time that a batch waits for more requests
	observe func(rows int, waited time.Duration) // receives the size and the waiting time of each batch
	done    sync.WaitGroup                       // workers
}

// job is a request in the queue.
type job struct {
	ctx    context.Context // ends when nobody waits for the answer
	taken  atomic.Bool     // whether a worker computes the job, or the client has given up first
	x      []float64       // inputs [n,D]
	n      int             // number of rows
	queued time.Time       // time when the job came into the queue

	g       gp.Gaussian   // answer, a copy that belongs to the job
	err     error         // error instead of the answer
	started time.Time     // time when the computation of the batch began
	ended   time.Time     // time when the computation of the batch ended
	batch   int           // rows of the batch
	end     chan struct{} // closed when g or err is set
}

// newQueue starts a queue for a version.
func newQueue(v *version, o Options) *queue {
	q := &queue{version: v, jobs: make(chan *job, o.Queue), rows: o.BatchRows, delay: o.BatchDelay, observe: o.metrics.batch(v.name)}
	for range runtime.GOMAXPROCS(0) {
		q.done.Go(q.work)
	}
	return q
}

// close waits until all jobs are done. No job may be added afterwards.
func (q *queue) close() {
	close(q.jobs)
	q.done.Wait()
}

// latents returns the latent distributions at n rows x. If the queue is full, it returns errFull at
// once; if ctx ends first, the error of ctx.
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
		if !j.taken.Swap(true) {
			j.x = nil // an abandoned job in the queue holds no inputs
		}
		return gp.Gaussian{}, ctx.Err()
	}
}

// work takes batches of jobs until the queue is closed.
func (q *queue) work() {
	var b batch
	for {
		first, open := b.late, true
		if b.late = nil; first == nil {
			first, open = <-q.jobs
		}
		if !open {
			return
		}
		b.add(first)
		q.gather(&b)
		if len(b.jobs) > 0 {
			q.observe(b.n, time.Since(b.jobs[0].queued))
			b.run(q.version)
			b.reset() // a worker that waits holds no large arrays
		}
	}
}

// gather adds waiting jobs to b and, within the delay, new jobs. A job with too many rows for b is the first of the next
// batch, so that a batch with several jobs is small and ends soon, also if some of its clients are gone.
func (q *queue) gather(b *batch) {
	var late <-chan time.Time
	if q.delay > 0 {
		timer := time.NewTimer(q.delay)
		defer timer.Stop()
		late = timer.C
	}
	for b.n < q.rows {
		j := q.next(late)
		if j == nil {
			return
		}
		if len(b.jobs) > 0 && b.n+j.n > q.rows {
			b.late = j
			return
		}
		b.add(j)
	}
}

// next returns a waiting job. If there is none, next waits for a job until late; without late it does not
// wait. next returns nil if there is no job.
func (q *queue) next(late <-chan time.Time) *job {
	select {
	case j := <-q.jobs: // nil if the queue is closed
		return j
	default:
	}
	if late == nil {
		return nil
	}
	select {
	case j := <-q.jobs:
		return j
	case <-late:
		return nil
	}
}

// batch has jobs that are computed together.
type batch struct {
	jobs []*job      // jobs for which somebody waits
	late *job        // first job of the next batch; nil if there is none yet
	n    int         // rows of all jobs
	x    []float64   // inputs of all jobs [n,D], if there are several jobs
	g    gp.Gaussian // latent distributions of all jobs
}

// mostKept is the number of values up to which a batch keeps its memory for the next batch.
const mostKept = 1 << 16

// reset empties the batch.
func (b *batch) reset() {
	clear(b.jobs)
	b.jobs, b.n, b.x = b.jobs[:0], 0, b.x[:0]
	if cap(b.x) > mostKept {
		b.x = nil
	}
	if cap(b.g.Cov) > mostKept {
		b.g = gp.Gaussian{}
	}
}

// add adds a job, or ends the job if nobody waits for its answer.
func (b *batch) add(j *job) {
	if j.err = j.ctx.Err(); j.taken.Swap(true) || j.err != nil {
		close(j.end)
		return
	}
	b.jobs, b.n = append(b.jobs, j), b.n+j.n
}

// run computes the jobs and ends them.
func (b *batch) run(v *version) {
	started := time.Now()
	b.compute(v)
	for _, j := range b.jobs {
		j.started, j.ended, j.batch = started, time.Now(), b.n
		close(j.end)
	}
}

// compute computes the jobs together. If that fails, it computes each job alone, so that only the
// jobs with errors fail.
func (b *batch) compute(v *version) {
	x := b.jobs[0].x
	if len(b.jobs) > 1 {
		for _, j := range b.jobs {
			b.x = append(b.x, j.x...)
		}
		x = b.x
	}
	ctx, cancel := b.context()
	defer cancel()
	if err := v.predict.Marginals(ctx, x, &b.g); err != nil && len(b.jobs) > 1 {
		for _, j := range b.jobs {
			j.err = v.predict.Marginals(j.ctx, j.x, &j.g)
		}
		return
	} else if err != nil {
		b.jobs[0].err = err
		return
	}
	b.scatter()
}

// context returns a context that ends when nobody waits for any job of the batch.
func (b *batch) context() (context.Context, context.CancelFunc) {
	if len(b.jobs) == 1 {
		return b.jobs[0].ctx, func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	left := new(atomic.Int64)
	left.Store(int64(len(b.jobs)))
	stops := make([]func() bool, len(b.jobs))
	for i, j := range b.jobs {
		stops[i] = context.AfterFunc(j.ctx, func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}

// scatter gives each job its results: a single job the memory of the batch, several jobs copies.
func (b *batch) scatter() {
	if len(b.jobs) == 1 {
		b.jobs[0].g, b.g = b.g, gp.Gaussian{}
		return
	}
	at := 0
	for _, j := range b.jobs {
		j.g.Set(b.g.Rows(at, j.n))
		at += j.n
	}
}
