package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-valla/valla/experiments"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/experiments/internal/spec"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/train"
)

// fit is a row of the table of whole fits: a row of an experiment with some settings, or a piece
// of work of its own. It is measured in a process of its own, so that its memory is its alone.
type fit struct {
	name string  // also of the folder of its cells
	cpu  float64 // CPU seconds of the fit and its predictions at the speed usualSpeed
	long bool    // measured only where it is named

	experiment, profile, data, net string      // net replaces the experiment's network
	method, row                    string      // the method, and the label of its row in the experiment
	set                            [][2]string // settings of the row that are not the experiment's

	// own is a function instead of an experiment. The folder holds the data sets; with "" rows are made. Without its data set the
	// error wraps fs.ErrNotExist.
	own    func(ctx context.Context, folder string, cell *result.Cell) error
	random bool // own has no data set: rows are always made
}

// usualSpeed is the speed of a core for the fields cpu, in operations of float32 a second: an AMD EPYC (Zen 5).
const usualSpeed = 236e9

// vallaRow is the row of an experiment that most rows of the table measure.
const vallaRow = "VaLLA 100 natural"

var hundred = [][2]string{{"inducing", "100"}}

// few are the settings that the defaults of a fit have for a ResNet.
var few = [][2]string{{"iterations", "30"}, {"validate-every", "6"}, {"fix-inducing", "true"}}

// fits is the table.
var fits = []fit{
	{name: "uci-boston", cpu: 1, experiment: "uci", data: "boston", method: "valla", row: vallaRow},
	{name: "uci-concrete", cpu: 1, experiment: "uci", data: "concrete", method: "valla", row: vallaRow},
	{name: "uci-energy", cpu: 1, experiment: "uci", data: "energy", method: "valla", row: vallaRow},
	{name: "uci-kin8nm", cpu: 2, experiment: "uci", data: "kin8nm", method: "valla", row: vallaRow},
	{name: "uci-power", cpu: 2, experiment: "uci", data: "power", method: "valla", row: vallaRow},
	{name: "uci-yacht", cpu: 1, experiment: "uci", data: "yacht", method: "valla", row: vallaRow},
	{name: "mnist-300", cpu: 5, experiment: "mnist", data: "mnist", method: "valla", row: vallaRow, set: append(hundred, [2]string{"iterations", "300"})},
	{name: "mnist-full", cpu: 15, experiment: "mnist", data: "mnist", method: "valla", row: vallaRow, set: hundred},
	{name: "fmnist-300", cpu: 5, experiment: "fmnist", data: "fmnist", method: "valla", row: vallaRow, set: append(hundred, [2]string{"iterations", "300"})},
	{name: "fmnist-full", cpu: 15, experiment: "fmnist", data: "fmnist", method: "valla", row: vallaRow, set: hundred},
	{name: "airline-nycflights13", cpu: 11, experiment: "airline-nycflights13", data: "airline-nycflights13", method: "valla", row: vallaRow, set: hundred},
	{name: "taxi-green", cpu: 8, experiment: "taxi-green", data: "taxi-green", method: "valla", row: vallaRow, set: hundred},
	{name: "k-means", cpu: 2, data: "50,000 × 3,072", method: "k-means", row: "100 centres", own: kMeans},
	{name: "lla-full", cpu: 54, data: "37,000 × 9", method: "lla", row: "LLA of 11,201 weights", own: fullLaplace, random: true},
	{name: "resnet20", cpu: 150, experiment: "cifar10", profile: "clean", data: "cifar10", net: "resnet20", method: "valla", row: vallaRow, set: few},
	{name: "resnet20-likeliest", cpu: 60, long: true, experiment: "cifar10", profile: "clean", data: "cifar10", net: "resnet20", method: "valla", row: vallaRow, set: append(few, [2]string{"likeliest", "2"})},
	{name: "resnet32", cpu: 250, long: true, experiment: "cifar10", profile: "clean", data: "cifar10", net: "resnet32", method: "valla", row: vallaRow, set: few},
	{name: "resnet56", cpu: 460, long: true, experiment: "cifar10", profile: "clean", data: "cifar10", net: "resnet56", method: "valla", row: vallaRow, set: few},
	{name: "resnet20-kfac", cpu: 400, long: true, experiment: "cifar10", profile: "clean", data: "cifar10", net: "resnet20", method: "lla", row: "LLA KFAC", set: [][2]string{{"structure", "kfac"}}},
}

// fitsExperiment stands in place of the experiment in the cells of the table. The name of the row
// stands in place of the profile.
const fitsExperiment = "fits"

// measureFits adds lines of rows to the report, each measured in a process of its own, as far as there is time. Rows that are
// finished in the folder are not measured again.
func (c *Command) measureFits(ctx context.Context, r *report, chosen []fit, folder string) error {
	if len(chosen) == 0 {
		return nil
	}
	var failed error
	notes := map[string]string{}
	for _, f := range chosen {
		for seed := range c.seeds {
			if notes[f.name] = c.tooLong(ctx, f, r.Peak); notes[f.name] != "" {
				break
			}
			fmt.Fprintf(c.progress, "%s, seed %d\n", f.name, seed)
			switch err := c.elsewhere(ctx, f.name, seed, folder); {
			case err != nil && ctx.Err() == nil:
				failed = errors.Join(failed, fmt.Errorf("%s, seed %d: %w", f.name, seed, err))
			case err != nil:
				notes[f.name] = fmt.Sprintf("stopped after --time %v", c.within)
			}
		}
	}
	return errors.Join(failed, c.addLines(r, chosen, notes, folder), ctx.Err())
}

// tooLong returns why a row is left out, or "" where there is time for it.
func (c *Command) tooLong(ctx context.Context, f fit, speed peak) string {
	if errors.Is(ctx.Err(), context.Canceled) {
		return "not measured"
	}
	end, limited := ctx.Deadline()
	need := time.Duration(f.cpu * usualSpeed / speed.Single / float64(runtime.GOMAXPROCS(0)) * float64(time.Second))
	if left := time.Until(end); limited && need > left {
		return fmt.Sprintf("left out: it takes about %v, and %v are left of --time %v", need.Round(time.Second), max(0, left).Round(time.Second), c.within)
	}
	return ""
}

// elsewhere measures a row in a process of its own.
func (c *Command) elsewhere(ctx context.Context, name string, seed int, folder string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, "bench", "--one", name, "--seed", strconv.Itoa(seed), "--dir", folder, "--data", c.data)
	cmd.Stdout, cmd.Stderr = c.progress, c.progress
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute // in which it writes its checkpoint
	return cmd.Run()
}

// oneFit measures a row in this process and keeps its cell.
func (c *Command) oneFit(ctx context.Context) error {
	i := slices.IndexFunc(fits, func(f fit) bool { return f.name == c.one })
	if i < 0 {
		return settings.Errorf("--one: no row %q", c.one)
	}
	if fits[i].own != nil {
		return fits[i].alone(ctx, c)
	}
	return fits[i].cells(ctx, c)
}

// cells measures the row of an experiment. Where the data set or the weights of a ResNet are not there, rows are made.
func (f fit) cells(ctx context.Context, c *Command) error {
	e, err := experiments.Open(f.experiment, f.profile)
	if err != nil {
		return err
	}
	if err := (experiments.Overrides{Methods: []string{f.method}, Seeds: []uint64{uint64(c.seed)}, Net: f.net}).Apply(e); err != nil {
		return err
	}
	o := experiments.Options{Data: c.data, Dir: c.dir, Memory: memoryLimit, Count: true, Made: c.data == "", OnProgress: c.tell()}
	if f.net != "" && !o.Made { // which nobody wants to train
		o.Weights = filepath.Join(filepath.Dir(c.data), filepath.FromSlash(strings.ReplaceAll(e.Network.Weights, "NET", f.net)))
	}
	e.Name, e.Profile, e.Data, e.Scoring = fitsExperiment, f.name, []string{f.data}, spec.Scoring{}
	if e.Methods, err = f.only(e.Methods); err != nil {
		return err
	}
	if !o.Made {
		if err = experiments.Run(ctx, e, o); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		fmt.Fprintf(c.progress, "%s: rows are made: %v\n", f.name, err)
	}
	o.Made, o.Weights, e.MAP.Iterations = true, "", madeSteps
	if f.net != "" {
		e.MAP.Iterations = madeNetSteps
	}
	return experiments.Run(ctx, e, o)
}

// A network learns made rows in madeSteps steps. A ResNet makes few, because they take long.
const madeSteps, madeNetSteps = 500, 20

// only returns the one row of an experiment that f measures, with f's settings.
func (f fit) only(rows []spec.Row) ([]spec.Row, error) {
	for _, r := range rows {
		for _, s := range f.set {
			if r.Has(s[0]) {
				r.Set(s[0], s[1])
			}
		}
		variants, err := r.Variants()
		if err != nil {
			return nil, err
		}
		if len(variants) == 1 && variants[0].Label == f.row {
			return []spec.Row{r}, nil
		}
	}
	return nil, fmt.Errorf("%s: the experiment %s has no row %q", f.name, f.experiment, f.row)
}

// tell returns a callback that writes a line of progress every ten seconds.
func (c *Command) tell() func(what string, p train.Progress) {
	last := time.Now()
	return func(what string, p train.Progress) {
		if time.Since(last) < 10*time.Second {
			return
		}
		last = time.Now()
		fmt.Fprintf(c.progress, "%s: %d of %d %s\n", what, p.Done, p.Total, p.Unit)
	}
}
