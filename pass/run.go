package pass

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/kernel"
)

// Runner does the parts of a job. Several goroutines may use a Runner at once: each call of
// [Runner.Do] has a copy of the model to itself.
type Runner struct {
	*Job
	dir  string            // folder of the shards
	free chan *valla.Model // copies of the model that no goroutine uses
}

// NewRunner returns a Runner whose shards go to the folder dir, and joins the job there, see
// [Job.Join].
func (j *Job) NewRunner(dir string) (*Runner, error) {
	if err := j.Join(dir); err != nil {
		return nil, err
	}
	r := &Runner{Job: j, dir: dir, free: make(chan *valla.Model, 1024)}
	m, err := r.model(context.Background())
	if err != nil {
		return nil, err
	}
	r.giveBack(m)
	return r, nil
}

// model returns a copy of the model that no other goroutine uses.
func (r *Runner) model(ctx context.Context) (*valla.Model, error) {
	select {
	case m := <-r.free:
		return m, nil
	default:
	}
	m, err := r.load()
	if err == nil && r.Runtime {
		err = m.UseRuntime(ctx, valla.RuntimeOptions{Library: r.Library, Provider: r.Provider})
	}
	return m, err
}

// load reads the model. A file that has changed since the job began is an error.
func (j *Job) load() (*valla.Model, error) {
	sum, err := atomicfile.Digest(j.Model)
	if err == nil && sum != j.Digest {
		err = fmt.Errorf("%s has changed since the pass began", j.Model)
	}
	if err != nil {
		return nil, err
	}
	return valla.Load(j.Model)
}

// giveBack keeps the copy m of the model for the next call of model.
func (r *Runner) giveBack(m *valla.Model) {
	select {
	case r.free <- m:
	default:
	}
}

// Do does the part with the given number and returns its record. If the part is finished already,
// Do only returns the record.
func (r *Runner) Do(ctx context.Context, part int) (*Shard, error) {
	done, err := r.record(r.dir, part)
	if err != nil || done != nil {
		return done, err
	}
	m, err := r.model(ctx)
	if err != nil {
		return nil, err
	}
	defer r.giveBack(m)
	out := &Shard{Job: r.key(), Part: part, Name: name(part, r.Task.ending())}
	err = atomicfile.Write(filepath.Join(r.dir, out.Name), 0o644, func(w io.Writer) error { return r.shard(ctx, m, out, w) })
	if err != nil {
		return nil, fmt.Errorf("part %d of %d: %w", part, r.Count, err)
	}
	return out, writeJSON(filepath.Join(r.dir, name(part, ".json")), out)
}

// shard writes the shard of the part out.Part to w and fills in the record out. A file of rows that
// changes meanwhile is an error.
func (r *Runner) shard(ctx context.Context, m *valla.Model, out *Shard, w io.Writer) error {
	part := r.Parts[out.Part]
	file := r.Data[slices.IndexFunc(r.Data, func(f File) bool { return f.Path == part.Path })]
	if err := file.unchanged(); err != nil {
		return err
	}
	s := newSummed(w)
	var err error
	switch reader := (data.TableReader{Header: r.Header}); r.Task {
	case Fit:
		out.Rows, out.Notes, err = sum(ctx, m, reader, part, s)
	default:
		if err = r.sameIDs(m, reader, part); err != nil {
			return err
		}
		out.Rows, out.Notes, err = score(ctx, m, reader, part, scoreOptions{r.Options, out.Part == 0}, s)
	}
	if err == nil {
		err = file.unchanged()
	}
	out.Bytes, out.Sum = s.bytes, s.sum()
	return err
}

// sameIDs returns an error if the file of a part has other columns of IDs than the first file, whose names head the predictions.
func (r *Runner) sameIDs(m *valla.Model, reader data.TableReader, part data.Part) error {
	first := r.Parts[0]
	if part.Path == first.Path {
		return nil
	}
	var ids [2][]string
	for i, p := range []data.Part{first, part} {
		rows, err := m.Open(reader, p, false)
		if err != nil {
			return err
		}
		ids[i] = rows.ID
		rows.Close()
	}
	if !slices.Equal(ids[0], ids[1]) {
		return fmt.Errorf("%s: the columns of IDs %q, expected %q as in %s", part.Path, ids[1], ids[0], first.Path)
	}
	return nil
}

// Run does the parts with the given numbers and returns their records in order. Finished parts are
// not done again. Workers is the number of goroutines; 0 means GOMAXPROCS. If onProgress is not nil,
// it is called after each part with the number of finished parts, of all parts, and of rows. The
// first error ends the run; the parts that are finished then stay finished. While runs work, matrix
// products share the threads that their workers leave.
func (r *Runner) Run(ctx context.Context, parts []int, workers int, onProgress func(done, all int, rows int64)) ([]*Shard, error) {
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = max(1, min(workers, len(parts)))
	occupy(workers)
	defer occupy(-workers)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	records := make([]*Shard, len(parts))
	p := progress{all: len(parts), report: onProgress}
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(parts)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				record, err := r.Do(ctx, parts[i])
				if err != nil {
					cancel(err)
					return
				}
				records[i] = record
				p.add(record)
			}
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return records, nil
}

// atWork has the workers of all runs of this process.
var atWork struct {
	mu      sync.Mutex // guards the numbers
	workers int        // of the runs in progress
	threads int        // of matrix products while no run is in progress
}

// occupy adds to the workers that are at work, among whom it divides the threads of matrix products.
func occupy(workers int) {
	atWork.mu.Lock()
	defer atWork.mu.Unlock()
	if atWork.workers == 0 {
		atWork.threads = kernel.Threads()
	}
	atWork.workers += workers
	kernel.SetThreads(max(1, atWork.threads/max(1, atWork.workers)))
}

// progress counts finished parts and their rows, for several goroutines.
type progress struct {
	mu     sync.Mutex                      // guards the counts
	done   int                             // finished parts
	all    int                             // parts of the run
	rows   int64                           // rows of the finished parts
	report func(done, all int, rows int64) // called after each part; may be nil
}

// add counts the part of the record r.
func (p *progress) add(r *Shard) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.rows = p.done+1, p.rows+r.Rows
	if p.report != nil {
		p.report(p.done, p.all, p.rows)
	}
}

// Share returns the numbers of the parts of worker k out of n, where k is from 0 to n−1. The share
// 0 of 1 has all parts.
func (j *Job) Share(k, n int) (parts []int) {
	for i := k; i < j.Count; i += n {
		parts = append(parts, i)
	}
	return parts
}
