// Package vallabeam runs passes of package pass on Apache Beam. The element of a collection is the
// number of a part, not a row: a worker reads the part itself, and writes its shard to a folder
// that all workers and the program share. So elements cost nothing, retries are safe, since they
// write the same file again, and the result has the same bytes as that of one machine.
package vallabeam

import (
	"context"
	"reflect"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/transforms/stats"

	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/pass"
)

func init() {
	beam.RegisterType(reflect.TypeOf(pass.Array{}))
	register.DoFn2x2[context.Context, int, int64, error](&doPart{})
	register.DoFn3x2[context.Context, pass.Array, int64, string, error](&addArray{})
}

// Parts does all parts of the job in a folder, which pass.Job.Join has written, and returns the
// number of rows, a collection of one int64. A part that is finished is skipped.
func Parts(s beam.Scope, j *pass.Job, dir string) beam.PCollection {
	s = s.Scope("valla.Parts")
	numbers := beam.Reshuffle(s, beam.CreateList(s, j.All()))
	return stats.Sum(s, beam.ParDo(s, &doPart{Dir: dir}, numbers))
}

// Score predicts all rows: the shards are those of Parts, see pass.Manifest.Concatenate.
func Score(s beam.Scope, j *pass.Job, dir string) beam.PCollection {
	return Parts(s.Scope("valla.Score"), j, dir)
}

// Fit adds up all rows for a posterior, and then the sums of the parts: each array, such as the
// factor of a layer, by itself and in files, since they may be too large for an accumulator. It
// returns the names of the arrays, after which pass.Manifest.Model makes the model.
func Fit(s beam.Scope, j *pass.Job, dir string) (beam.PCollection, error) {
	s = s.Scope("valla.Fit")
	arrays, err := j.Arrays()
	if err != nil {
		return beam.PCollection{}, err
	}
	rows := Parts(s, j, dir)
	return beam.ParDo(s, &addArray{Dir: dir}, beam.Reshuffle(s, beam.CreateList(s, arrays)), beam.SideInput{Input: rows}), nil
}

// runners holds what a process needs of a folder: the job and the model are read once.
var runners sync.Map // func() (*pass.Runner, error) by folder

// runner returns that of a folder.
func runner(dir string) (*pass.Runner, error) {
	once, _ := runners.LoadOrStore(dir, sync.OnceValues(func() (*pass.Runner, error) {
		kernel.SetThreads(1) // the engine runs several parts at once
		j, err := pass.Load(dir)
		if err != nil {
			return nil, err
		}
		return j.NewRunner(dir)
	}))
	return once.(func() (*pass.Runner, error))()
}

// doPart does the part with a number, and returns its rows.
type doPart struct{ Dir string }

// ProcessElement is called by Beam.
func (f *doPart) ProcessElement(ctx context.Context, part int) (int64, error) {
	r, err := runner(f.Dir)
	if err != nil {
		return 0, err
	}
	record, err := r.Do(ctx, part)
	if err != nil {
		return 0, err
	}
	return record.Rows, nil
}

// addArray adds an array over all shards, when these are there, and returns its name.
type addArray struct{ Dir string }

// ProcessElement is called by Beam; the number of rows says that all parts are finished.
func (f *addArray) ProcessElement(_ context.Context, a pass.Array, _ int64) (string, error) {
	r, err := runner(f.Dir)
	if err != nil {
		return "", err
	}
	m, err := r.Finished(f.Dir)
	if err != nil {
		return "", err
	}
	return a.Name, m.Add(f.Dir, a)
}
