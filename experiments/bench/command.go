package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/pflag"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/settings"
)

// Command holds what the flags of valla bench ask for.
type Command struct {
	data              string        // the folder of the data sets; "" means made rows
	dir               string        // the folder for results and pictures
	within            time.Duration // in which the table is made
	only              string        // a regular expression for names and groups of rows
	seeds             int           // the number of seeds of each fit
	steps             int           // the number of steps of each side
	cpu               bool          // measure CPU time instead of time of the wall
	reference, python string        // checkouts of published code, and the Python that runs them
	scaling, latency  bool          // measure how a step grows, and single rows
	each              time.Duration // that --latency takes for a row of its table
	json, markdown    bool          // the form of the output
	one               string        // the whole fit that this process measures
	seed              int           // the seed of that fit
	progress          io.Writer     // takes lines of progress
}

// Flags defines the flags.
func (c *Command) Flags(f *pflag.FlagSet) {
	f.StringVar(&c.data, "data", "", "`FOLDER` with the folders of data sets (default made rows of the same sizes, as for a set that is not there)")
	f.DurationVar(&c.within, "time", 10*time.Minute, "`TIME` for the table; fits that would take longer are left out")
	f.StringVar(&c.only, "only", "", "rows whose name or group matches the regular expression `RE`, also those that take minutes and are left out otherwise")
	f.IntVar(&c.seeds, "seeds", 1, "make each whole fit with `N` seeds")
	f.IntVar(&c.steps, "steps", 30, "number `N` of steps of each side; slower work makes fewer")
	f.StringVar(&c.dir, "dir", "", "`FOLDER` that keeps finished fits, which are not made again (default none), or the pictures of --scaling and --latency (default runs/bench)")
	f.BoolVar(&c.cpu, "cpu", false, "CPU time on one thread, which other programs hardly disturb, for steps and single rows")
	f.StringVar(&c.reference, "reference", "", "compare steps and predictions with the code in `DIRS`: checkouts of the repositories of VaLLA's, FMGP's and ELLA's authors, separated by commas")
	f.StringVar(&c.python, "python", "python3", "`FILE`: a Python with PyTorch, for --reference")
	f.BoolVar(&c.scaling, "scaling", false, "how time and memory of a step grow")
	f.BoolVar(&c.latency, "latency", false, "how long single rows take, in percentiles")
	f.DurationVar(&c.each, "each", 5*time.Second, "`TIME` that --latency takes for each model")
	f.BoolVar(&c.markdown, "markdown", false, "print the tables in Markdown")
	f.BoolVar(&c.json, "json", false, "print one JSON document")
	f.StringVar(&c.one, "one", "", "the whole fit `NAME`, in this process and without a table")
	f.IntVar(&c.seed, "seed", 0, "the seed of --one")
	for _, name := range []string{"one", "seed"} { // for the processes of whole fits
		f.Lookup(name).Hidden = true
	}
}

// Run measures what the flags ask for and prints it to stdout, and lines of progress to another writer. If ctx ends first, it prints
// what was measured, and returns an error that wraps ctx's.
func (c *Command) Run(ctx context.Context, stdout, progress io.Writer) error {
	if err := c.check(); err != nil {
		return err
	}
	c.progress = progress
	switch {
	case c.one != "":
		return c.oneFit(ctx)
	case c.scaling:
		return c.scale(ctx, stdout)
	case c.latency:
		return c.latencies(ctx, stdout)
	}
	return c.table(ctx, stdout)
}

// check refuses flags out of their ranges.
func (c *Command) check() error {
	if c.seeds < 1 || c.seed < 0 {
		return settings.Errorf("--seeds %d, --seed %d: expected 1 or more, and 0 or more", c.seeds, c.seed)
	}
	if c.each <= 0 || c.within <= 0 {
		return settings.Errorf("--each %v, --time %v: expected positive times", c.each, c.within)
	}
	if c.steps < minSteps {
		return settings.Errorf("--steps %d, expected %d or more", c.steps, minSteps)
	}
	return nil
}

// table measures steps, predictions and whole fits, and prints them.
func (c *Command) table(ctx context.Context, stdout io.Writer) error {
	steps, fits, err := c.chosen()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "valla-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r := report{session: newSession(), CPU: c.cpu}
	fmt.Fprintln(c.progress, "the speed of a core")
	r.Peak = newPeak()
	limited, cancel := context.WithTimeout(ctx, c.within)
	defer cancel()
	err = c.measureSteps(limited, &r, steps, work)
	if err != nil && limited.Err() != nil {
		err = limited.Err() // the end of the time kills the other side, which looks like a crash
	}
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		err = c.measureFits(limited, &r, fits, cmp.Or(c.dir, work))
	}
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = nil // fits that were left out say so
	}
	if len(r.Rows)+len(r.Fits) == 0 {
		return err
	}
	r.Load[1] = load()
	return errors.Join(err, c.print(stdout, r, func() string { return r.text(c.markdown) })) // what was measured, also after an interruption
}

// measureSteps adds the rows of steps and predictions to the report. The folder is for what both sides exchange.
func (c *Command) measureSteps(ctx context.Context, r *report, chosen []benchmark, folder string) error {
	p, err := c.peer(ctx, r, folder)
	if err != nil {
		return err
	}
	pl := plan{steps: c.steps, budget: time.Minute}
	if pl.threads, pl.clock, err = c.timing(); err != nil {
		return err
	}
	if _, err := processClock(); err == nil && p == nil {
		pl.alone = processClock // the floor is one of CPU time
	}
	return c.rows(chosen, func(b benchmark, dt tensor.Dtype) error {
		row, err := measure(ctx, b, dt, p, pl)
		if err == nil {
			row.Floor = r.Peak.floor(row.Needed)
			r.Rows = append(r.Rows, row)
		}
		return err
	})
}

// timing returns the number of threads and the clock of a measurement; nil is the clock of the wall.
// CPU time is measured on one thread, because the waiting of several threads would count as well.
func (c *Command) timing() (threads int, now clock, err error) {
	if !c.cpu {
		return runtime.GOMAXPROCS(0), nil, nil
	}
	_, err = processClock()
	return 1, processClock, err
}

// rows calls f for each row of the table.
func (c *Command) rows(chosen []benchmark, f func(benchmark, tensor.Dtype) error) error {
	for _, b := range chosen {
		for _, dt := range b.dtypes {
			fmt.Fprintf(c.progress, "%s, %v\n", b.name, dt)
			if err := f(b, dt); err != nil {
				return err
			}
			debug.FreeOSMemory()
		}
	}
	return nil
}

// peer finds the other side. If there is none, it notes the reason in the report.
func (c *Command) peer(ctx context.Context, r *report, dir string) (*peer, error) {
	if c.reference == "" {
		return nil, nil
	}
	p, versions, err := newPeer(ctx, c.python, c.reference, dir)
	if errors.Is(err, errMissing) {
		r.Note = err.Error()
		return nil, nil
	}
	r.Versions = versions
	return p, err
}

// chosen returns the rows that the flags ask for. The code that others published makes no whole fits.
func (c *Command) chosen() (steps []benchmark, whole []fit, err error) {
	re, err := regexp.Compile(c.only)
	if err != nil {
		return nil, nil, settings.Errorf("--only: %w", err)
	}
	asked := func(name string, g group, usual bool) bool {
		return (usual || c.only != "") && (re.MatchString(name) || re.MatchString(string(g)))
	}
	for _, b := range benchmarks {
		if asked(b.name, b.group, b.group != backpack && b.group != laplaces) {
			steps = append(steps, b)
		}
	}
	for _, f := range fits {
		if c.reference == "" && asked(f.name, wholeFits, !f.long) {
			whole = append(whole, f)
		}
	}
	if len(steps)+len(whole) == 0 {
		return nil, nil, settings.Errorf("--only %q: no row has such a name or group", c.only)
	}
	return steps, whole, nil
}
