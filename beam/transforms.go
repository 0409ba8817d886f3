// Package vallabeam runs passes of package pass on Apache Beam. The element of a collection is the
// number of a part and not a row: a worker reads the part itself, and writes its shard to a folder
// that all workers and the program share. Elements therefore cost nothing. A retry is safe, because it
// writes the same file again. The results have the same bytes as on one machine.
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

// Parts does all parts of job j, which [pass.Job.Join] has written to the folder dir, and returns a
// collection of one int64: the number of rows. Finished parts are skipped.
func Parts(s beam.Scope, j *pass.Job, dir string) beam.PCollection {
	s = s.Scope("valla.Parts")
	numbers := beam.Reshuffle(s, beam.CreateList(s, j.Share(0, 1)))
	return stats.Sum(s, beam.ParDo(s, &doPart{Dir: dir}, numbers))
}

// Score predicts all rows. The shards of predictions go to the folder dir, see
// [pass.Manifest.Concatenate]. It returns the number of rows, as Parts does.
func Score(s beam.Scope, j *pass.Job, dir string) beam.PCollection {
	return Parts(s.Scope("valla.Score"), j, dir)
}

// Fit adds up all rows for a posterior, and then the sums of the parts. Each array, such as the
// factor of a layer, is added up by itself and through files, because it may be too large for an
// accumulator. Fit returns the names of the arrays; then [pass.Manifest.Model] makes the model.
func Fit(s beam.Scope, j *pass.Job, dir string) (beam.PCollection, error) {
	s = s.Scope("valla.Fit")
	arrays, err := j.Arrays()
	if err != nil {
		return beam.PCollection{}, err
	}
	rows := Parts(s, j, dir)
	return beam.ParDo(s, &addArray{Dir: dir}, beam.Reshuffle(s, beam.CreateList(s, arrays)), beam.SideInput{Input: rows}), nil
}

// runners maps a folder to a func() (*pass.Runner, error), so that a process reads the job and the
// model once.
var runners sync.Map

// runner returns the runner of the folder dir.
func runner(dir string) (*pass.Runner, error) {
	once, _ := runners.LoadOrStore(dir, sync.OnceValues(func() (*pass.Runner, error) {
		kernel.SetThreads(1) // the engine runs several parts at once
		j, err := pass.Load(dir)
		if err != nil {
			return nil, err
		}
		return j.NewRunner(dir)
	}))
	r, err := once.(func() (*pass.Runner, error))()
	if err != nil {
		runners.Delete(dir) // a later try may find the folder
	}
	return r, err
}

// doPart is the function that does a part.
type doPart struct {
	Dir string // folder of the job and the shards
}

// ProcessElement does the part with the given number and returns the number of its rows. Beam calls
// it.
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

// addArray is the function that sums an array over all shards.
type addArray struct {
	Dir string // folder of the job and the shards
}

// ProcessElement sums an array over all shards and returns the name of the array. Beam calls it with
// the number of rows, so that all parts are finished before.
func (f *addArray) ProcessElement(_ context.Context, a pass.Array, _ int64) (string, error) {
	r, err := runner(f.Dir)
	if err != nil {
		return "", err
	}
	m, err := r.Finish(f.Dir)
	if err != nil {
		return "", err
	}
	return a.Name, m.Add(f.Dir, a)
}
