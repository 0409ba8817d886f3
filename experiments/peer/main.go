package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/go-valla/valla/data"
	"gorgonia.org/tensor"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// command holds the flags of the command line.
type command struct {
	reference, python string        // checkouts of published code, and the Python that runs them
	resnet, laplace   bool          // groups of rows that take minutes
	scaling           bool          // measure how a step grows
	latency, cpu      bool          // measure single rows, and CPU time instead of time of the wall
	each              time.Duration // that --latency takes for a row of its table
	only              string        // a regular expression for names of rows
	steps             int           // the number of steps of each side
	json, markdown    bool          // the form of the output
	dir               string        // the folder for pictures or results
	fits              bool          // measure whole fits
	names, data       string        // rows of --fits, and the folder of their data sets
	seeds             int           // the number of seeds of each fit
	one               string        // the row of --fits that this process measures
	seed              int           // the seed of that row
	progress          io.Writer     // takes lines of progress
}

// run executes a command line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := command{progress: stderr}
	switch err := c.parse(args, stderr); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "peer: %v\n", err)
		return 2
	}
	switch err := c.action()(ctx, stdout); {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "peer: interrupted")
		return 130
	case err != nil:
		fmt.Fprintf(stderr, "peer: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
		if c.one != "" && errors.Is(err, fs.ErrNotExist) {
			return exitAbsent
		}
		return 1
	}
	return 0
}

// action returns what the flags ask for.
func (c *command) action() func(context.Context, io.Writer) error {
	switch {
	case c.one != "":
		return c.oneFit
	case c.fits:
		return c.allFits
	case c.scaling:
		return c.scale
	case c.latency:
		return c.latencies
	}
	return c.compare
}

// flags defines the flags.
func (c *command) flags() *flag.FlagSet {
	f := flag.NewFlagSet("peer", flag.ContinueOnError)
	f.StringVar(&c.reference, "reference", "", "`DIRS`: checkouts of the repositories of VaLLA's, FMGP's and ELLA's authors, separated by commas")
	f.StringVar(&c.python, "python", "python3", "`FILE`: a Python with PyTorch")
	f.BoolVar(&c.resnet, "resnet", false, "also steps of VaLLA on ResNet-20, which take minutes")
	f.BoolVar(&c.laplace, "laplace", false, "also the linearized Laplace family beside laplace-torch, which takes minutes")
	f.StringVar(&c.only, "only", "", "a regular expression `RE`: rows whose name matches")
	f.IntVar(&c.steps, "steps", 30, "number `N` of steps of each side; slower work makes fewer")
	f.BoolVar(&c.json, "json", false, "print one JSON document")
	f.BoolVar(&c.markdown, "markdown", false, "print the table in Markdown")
	f.BoolVar(&c.scaling, "scaling", false, "how time and memory of a step grow")
	f.BoolVar(&c.latency, "latency", false, "how long single rows take, in percentiles")
	f.BoolVar(&c.cpu, "cpu", false, "CPU time on one thread, which other programs hardly disturb, for --latency and the table of both sides")
	f.DurationVar(&c.each, "each", 5*time.Second, "`TIME` that --latency takes for each model")
	f.StringVar(&c.dir, "dir", "", "`FOLDER` for the pictures of --scaling and --latency (default runs/scaling), or for the results of --fits (default runs/fits)")
	f.BoolVar(&c.fits, "fits", false, "whole fits, with their time, memory and quality; names of rows may follow, separated by commas")
	f.IntVar(&c.seeds, "seeds", 1, "--fits makes each fit with `N` seeds")
	f.StringVar(&c.data, "data", "", "`FOLDER` with the folders of the data sets, for --fits (default that of valla data get)")
	f.StringVar(&c.one, "one", "", "the row `NAME` of --fits, in this process and without a table")
	f.IntVar(&c.seed, "seed", 0, "the seed of --one")
	return f
}

// parse reads a command line.
func (c *command) parse(args []string, stderr io.Writer) error {
	f := c.flags()
	f.SetOutput(stderr)
	if err := f.Parse(args); err != nil {
		return err
	}
	if c.fits && f.NArg() > 0 {
		c.names = f.Arg(0)
		if err := f.Parse(f.Args()[1:]); err != nil {
			return err
		}
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", f.Arg(0))
	}
	if c.dir == "" && (c.fits || c.one != "") {
		c.dir = "runs/fits"
	}
	c.dir = cmp.Or(c.dir, "runs/scaling")
	if c.data == "" {
		var err error
		if c.data, err = data.Folder(); err != nil {
			return err
		}
	}
	return c.check()
}

// check refuses flags out of their ranges.
func (c *command) check() error {
	if c.seeds < 1 || c.seed < 0 {
		return fmt.Errorf("--seeds %d, --seed %d: expected 1 or more, and 0 or more", c.seeds, c.seed)
	}
	if c.each <= 0 {
		return fmt.Errorf("--each %v, expected a positive time", c.each)
	}
	if c.steps < minSteps {
		return fmt.Errorf("--steps %d, expected %d or more", c.steps, minSteps)
	}
	return nil
}

// compare measures the benchmarks and prints the table.
func (c *command) compare(ctx context.Context, stdout io.Writer) error {
	chosen, err := c.chosen()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "peer-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r := report{session: newSession(), CPU: c.cpu}
	p, err := c.peer(ctx, &r, dir)
	if err != nil {
		return err
	}
	pl := plan{steps: c.steps, budget: time.Minute}
	if pl.threads, pl.clock, err = c.timing(); err != nil {
		return err
	}
	err = c.rows(chosen, func(b benchmark, dt tensor.Dtype) error {
		row, err := measure(ctx, b, dt, p, pl)
		if err == nil {
			r.Rows = append(r.Rows, row)
		}
		return err
	})
	if len(r.Rows) == 0 {
		return err
	}
	r.Load[1] = load()
	return errors.Join(err, c.print(stdout, r, func() string { return r.text(c.markdown) })) // what was measured, also after an interruption
}

// timing returns the number of threads and the clock of a measurement; nil is the clock of the wall.
// CPU time is measured on one thread, because the waiting of several threads would count as well.
func (c *command) timing() (threads int, now clock, err error) {
	if !c.cpu {
		return runtime.GOMAXPROCS(0), nil, nil
	}
	_, err = processClock()
	return 1, processClock, err
}

// rows calls f for each row of the table.
func (c *command) rows(chosen []benchmark, f func(benchmark, tensor.Dtype) error) error {
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
func (c *command) peer(ctx context.Context, r *report, dir string) (*peer, error) {
	if c.reference == "" {
		r.Note = "no --reference was given"
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

// chosen returns the benchmarks that the flags ask for.
func (c *command) chosen() ([]benchmark, error) {
	re, err := regexp.Compile(c.only)
	if err != nil {
		return nil, fmt.Errorf("--only: %w", err)
	}
	var list []benchmark
	for _, b := range benchmarks {
		asked := map[group]bool{dense: true, rows: true, rivals: true, convolution: true, backpack: c.resnet, laplaces: c.laplace}
		if asked[b.group] && re.MatchString(b.name) {
			list = append(list, b)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("--only %q: no row has such a name", c.only)
	}
	return list, nil
}
