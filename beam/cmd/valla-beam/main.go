// Command valla-beam predicts with a model, or fits its posterior to all rows, on Apache Beam.
//
//	valla-beam --task=predict --model=m.valla --shards=DIR --out=p.csv data/*.csv
//	valla-beam --task=fit --model=sample.valla --shards=DIR --out=m.valla data/*.csv
//	valla-beam --job_server=8099
//
// The runner is prism in this process, unless --runner, --endpoint and the other flags of Beam's
// runners say otherwise: see docs/scale.md. The model, the data and the folder of shards must be
// at the same paths for this program and all workers. The results have the same bytes as those
// of valla predict --parts and valla fit --passes with the same --part-size. A second run does
// only the parts that are not finished.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/go-valla/valla"
	vallabeam "github.com/go-valla/valla/beam"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/pass"
)

var (
	task     = flag.String("task", "predict", "what to do with the rows: predict, or fit")
	model    = flag.String("model", "", "model `FILE`; a fit needs a posterior that was fitted to a sample of the rows")
	shards   = flag.String("shards", "", "`FOLDER` for the results of the parts, which all workers share")
	out      = flag.String("out", "", "`FILE` to write: predictions as .csv, or a model (default: the shards stay as they are)")
	partSize = flag.Int64("part_size", 0, "bytes of a part, approximately (default 64 MiB)")
	level    = flag.Float64("level", 0.95, "probability of the intervals, or of the sets of classes")
	levels   = flag.String("quantiles", "", "with the task predict, regression: probabilities of further columns, such as 0.05,0.5,0.95")
	above    = flag.String("above", "", "with the task predict, regression: numbers of further columns, the probabilities of larger targets, such as 100,200")
	header   = flag.String("header", "", "whether the first row of a table of text names the columns: auto, yes, no")
	held     = flag.String("validation_data", "", "with the task fit: `FILE` of held-out rows that choose the standard deviations")
	server   = flag.Int("job_server", 0, "only run prism as a job server on this `PORT`")
)

func main() {
	flag.Parse()
	beam.Init()
	if err := run(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "valla-beam: %s\n", cause(err))
		os.Exit(1)
	}
}

// cause returns the line of an error that names the cause. Beam adds the stack of the worker.
func cause(err error) string {
	lines := strings.FieldsFunc(err.Error(), func(c rune) bool { return c == '\n' })
	for _, l := range lines {
		if _, of, found := strings.Cut(l, "caused by:"); found && strings.TrimSpace(of) != "" {
			return strings.TrimSpace(of)
		}
	}
	for i, l := range lines {
		if strings.HasSuffix(strings.TrimSpace(l), "caused by:") && i+1 < len(lines) {
			return strings.TrimSpace(lines[len(lines)-1])
		}
	}
	return strings.Join(lines, "; ")
}

func run(ctx context.Context) error {
	if *server != 0 {
		if _, err := prism.CreateJobServer(ctx, prism.Options{Port: *server}); err != nil {
			return err
		}
		fmt.Printf("prism serves jobs on port %d\n", *server)
		select {} // until it is killed
	}
	if *model == "" || *shards == "" || flag.NArg() == 0 {
		return errors.New("expected --model, --shards and files of rows")
	}
	if err := checkOut(); err != nil {
		return err
	}
	o, err := options()
	if err != nil {
		return err
	}
	j, err := pass.New(o, *model, flag.Args()...)
	if err == nil {
		err = j.Join(*shards)
	}
	if err != nil {
		return err
	}
	threads := kernel.Threads()
	if err := execute(ctx, j); err != nil {
		if *jobopts.Endpoint != "" {
			return fmt.Errorf("the job server at %s: %s", *jobopts.Endpoint, cause(err))
		}
		return err
	}
	kernel.SetThreads(threads)
	m, err := j.Finish(*shards)
	if err != nil {
		return err
	}
	fmt.Printf("finished %d parts with %d rows in %s\n", j.Count, m.Rows, *shards)
	return finish(ctx, j, m)
}

// checkOut returns an error if the file that the flag out names cannot be written, or if it is one of the files that are read.
func checkOut() error {
	if *out == "" {
		return nil
	}
	for _, other := range append([]string{*model, *shards, *held}, flag.Args()...) {
		if other != "" && atomicfile.Same(*out, other) {
			return fmt.Errorf("--out %s: it would replace %s or a file in it, expected another file", *out, other)
		}
	}
	if err := atomicfile.Try(*out); err != nil {
		return fmt.Errorf("--out %s: %w", *out, err)
	}
	return nil
}

// options returns the options of the pass that the flags describe.
func options() (pass.Options, error) {
	quantiles, err := numbers(*levels)
	if err != nil {
		return pass.Options{}, fmt.Errorf("--quantiles %s: %w", *levels, err)
	}
	thresholds, err := numbers(*above)
	if err != nil {
		return pass.Options{}, fmt.Errorf("--above %s: %w", *above, err)
	}
	o := pass.Options{Task: pass.Task(*task), Header: cmp.Or(*header, "auto"), PartSize: *partSize, Quantiles: quantiles, Above: thresholds}
	if o.Task == pass.Predict {
		o.Level = *level
	}
	return o, nil
}

// numbers returns the numbers in a list with commas, and none for "".
func numbers(list string) (out []float64, err error) {
	if list == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(list, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// execute runs the pipeline of job j.
func execute(ctx context.Context, j *pass.Job) error {
	p, s := beam.NewPipelineWithRoot()
	if j.Task == pass.Predict {
		vallabeam.Score(s, j, *shards)
	} else if _, err := vallabeam.Fit(s, j, *shards); err != nil {
		return err
	}
	return beamx.Run(ctx, p)
}

// finish writes the predictions or the model to the file that the flag out names, if it names one.
func finish(ctx context.Context, j *pass.Job, m *pass.Manifest) error {
	if *out == "" {
		return nil
	}
	if j.Task == pass.Predict {
		return atomicfile.Write(*out, 0o644, func(w io.Writer) error { return m.Concatenate(w, *shards) })
	}
	var rows *data.Set
	if *held != "" {
		of, err := valla.Load(j.Model)
		if err != nil {
			return err
		}
		r, err := of.Open(data.TableReader{Header: j.Header}, data.Part{Path: *held}, true)
		if err != nil {
			return err
		}
		defer r.Close()
		if rows, err = r.All(0); err != nil {
			return err
		}
	}
	made, err := m.Model(ctx, j, *shards, rows, 0)
	if err != nil {
		return err
	}
	return made.Save(*out)
}
