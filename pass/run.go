package pass

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/kernel"
)

// Runner does the parts of a job. Several goroutines may use it at once; each of them has a copy
// of the model, which the next one takes over.
type Runner struct {
	*Job
	dir  string
	free chan *valla.Model
}

// NewRunner returns a Runner whose shards go to a folder. It joins the job there.
func (j *Job) NewRunner(dir string) (*Runner, error) {
	if err := j.Join(dir); err != nil {
		return nil, err
	}
	r := &Runner{Job: j, dir: dir, free: make(chan *valla.Model, 1024)}
	m, err := r.model()
	if err != nil {
		return nil, err
	}
	r.giveBack(m)
	return r, nil
}

// model returns a copy of the model that nobody uses.
func (r *Runner) model() (*valla.Model, error) {
	select {
	case m := <-r.free:
		return m, nil
	default:
	}
	if sum, err := digest(r.Model); err != nil || sum != r.Digest {
		return nil, orElse(err, "%s has changed since the pass began", r.Model)
	}
	return valla.Load(r.Model)
}

// orElse returns an error or, if that is nil, one of a text.
func orElse(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return fmt.Errorf(format, args...)
}

func (r *Runner) giveBack(m *valla.Model) {
	select {
	case r.free <- m:
	default:
	}
}

// Do does a part and returns its record, or only returns this if the part is finished.
func (r *Runner) Do(ctx context.Context, part int) (*Record, error) {
	done, err := r.record(r.dir, part)
	if err != nil || done != nil {
		return done, err
	}
	m, err := r.model()
	if err != nil {
		return nil, err
	}
	defer r.giveBack(m)
	out := &Record{Job: r.Key(), Part: part, Shard: name(part, r.Task.ending())}
	err = atomicfile.Write(filepath.Join(r.dir, out.Shard), 0o644, func(w io.Writer) error { return r.shard(ctx, m, out, w) })
	if err != nil {
		return nil, fmt.Errorf("part %d of %d: %w", part, r.Count, err)
	}
	return out, writeJSON(filepath.Join(r.dir, name(part, ".json")), out)
}

// shard writes the shard of a part and fills in its record. The file is looked at before and
// after: it must not change.
func (r *Runner) shard(ctx context.Context, m *valla.Model, out *Record, w io.Writer) error {
	part := r.Parts[out.Part]
	file := r.Data[slices.IndexFunc(r.Data, func(f File) bool { return f.Path == part.Path })]
	if err := file.unchanged(); err != nil {
		return err
	}
	s := newSummed(w)
	var err error
	switch reader := (data.TableReader{Header: r.Header}); r.Task {
	case Fit:
		out.Rows, out.Notes, err = Sum(ctx, m, reader, part, s)
	default:
		out.Rows, out.Notes, err = Score(ctx, m, reader, part, ScoreOptions{r.Level, r.Link, out.Part == 0}, s)
	}
	if err == nil {
		err = file.unchanged()
	}
	out.Bytes, out.Sum = s.bytes, s.sum()
	return err
}

// RunOptions say how [Runner.Run] works.
type RunOptions struct {
	Workers    int                             // goroutines, each with a copy of the model; 0 means GOMAXPROCS
	OnProgress func(done, all int, rows int64) // if not nil, it is called after each part
}

// Run does some parts, of which those that are finished are skipped, and returns their records
// in order. The first error ends it; parts that are finished then stay so. While it runs the
// products of matrices share the threads that the workers leave.
func (r *Runner) Run(ctx context.Context, parts []int, o RunOptions) ([]*Record, error) {
	if o.Workers < 1 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	o.Workers = max(1, min(o.Workers, len(parts)))
	threads := kernel.Threads()
	kernel.SetThreads(max(1, threads/o.Workers))
	defer kernel.SetThreads(threads)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	records, next := make([]*Record, len(parts)), make(chan int)
	var workers sync.WaitGroup
	p := counted{all: len(parts), report: o.OnProgress}
	for range o.Workers {
		workers.Go(func() {
			for i := range next {
				var err error
				if records[i], err = r.Do(ctx, parts[i]); err != nil {
					cancel(err)
					return
				}
				p.add(records[i])
			}
		})
	}
	feed(ctx, next, len(parts))
	workers.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return records, nil
}

// feed sends the numbers below n until ctx ends.
func feed(ctx context.Context, to chan<- int, n int) {
	defer close(to)
	for i := range n {
		select {
		case to <- i:
		case <-ctx.Done():
			return
		}
	}
}

// counted reports progress.
type counted struct {
	mu     sync.Mutex
	done   int
	all    int
	rows   int64
	report func(done, all int, rows int64)
}

func (c *counted) add(r *Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done, c.rows = c.done+1, c.rows+r.Rows
	if c.report != nil {
		c.report(c.done, c.all, c.rows)
	}
}

// All lists the numbers of all parts.
func (j *Job) All() []int { return j.Share(0, 1) }

// Share lists the parts of worker k of n, counting from 0: every n-th.
func (j *Job) Share(k, n int) (parts []int) {
	for i := k; i < j.Count; i += n {
		parts = append(parts, i)
	}
	return parts
}
