package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-valla/valla/experiments"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/experiments/internal/spec"
	"github.com/go-valla/valla/train"
)

// fit is a row of the table of whole fits: a row of an experiment with some settings, or a piece
// of work of its own. It is measured in a process of its own, so that its memory is its alone.
type fit struct {
	name    string  // also of the folder of its cells
	wanted  float64 // seconds that are aimed at, for the fit and
	predict float64 // for the prediction of the test rows; 0: no aim

	experiment, profile, data, net string      // net replaces the experiment's network
	method, row                    string      // the method, and the label of its row in the experiment
	set                            [][2]string // settings of the row that are not the experiment's

	own func(ctx context.Context, folder string, cell *result.Cell) error // instead of an experiment; folder holds the data sets
}

// vallaRow is the row of an experiment that most rows of the table measure.
const vallaRow = "VaLLA 100 natural"

var hundred = [][2]string{{"inducing", "100"}}

// fits is the table.
var fits = []fit{
	{name: "uci-boston", wanted: 1, experiment: "uci", data: "boston", method: "valla", row: vallaRow},
	{name: "uci-concrete", wanted: 1, experiment: "uci", data: "concrete", method: "valla", row: vallaRow},
	{name: "uci-energy", wanted: 1, experiment: "uci", data: "energy", method: "valla", row: vallaRow},
	{name: "uci-kin8nm", wanted: 1, experiment: "uci", data: "kin8nm", method: "valla", row: vallaRow},
	{name: "uci-power", wanted: 1, experiment: "uci", data: "power", method: "valla", row: vallaRow},
	{name: "uci-yacht", wanted: 1, experiment: "uci", data: "yacht", method: "valla", row: vallaRow},
	{name: "mnist-300", wanted: 4, experiment: "mnist", data: "mnist", method: "valla", row: vallaRow, set: append(hundred, [2]string{"iterations", "300"})},
	{name: "mnist-full", wanted: 12, experiment: "mnist", data: "mnist", method: "valla", row: vallaRow, set: hundred},
	{name: "fmnist-300", wanted: 4, experiment: "fmnist", data: "fmnist", method: "valla", row: vallaRow, set: append(hundred, [2]string{"iterations", "300"})},
	{name: "fmnist-full", wanted: 12, experiment: "fmnist", data: "fmnist", method: "valla", row: vallaRow, set: hundred},
	{name: "airline-nycflights13", wanted: 10, experiment: "airline-nycflights13", data: "airline-nycflights13", method: "valla", row: vallaRow, set: hundred},
	{name: "taxi-green", wanted: 10, experiment: "taxi-green", data: "taxi-green", method: "valla", row: vallaRow, set: hundred},
	{name: "resnet20", wanted: 120, predict: 60, experiment: "cifar10", profile: "clean", data: "cifar10", net: "resnet20", method: "valla", row: vallaRow},
	{name: "resnet32", wanted: 240, predict: 100, experiment: "cifar10", profile: "clean", data: "cifar10", net: "resnet32", method: "valla", row: vallaRow},
	{name: "resnet56", wanted: 480, experiment: "cifar10", profile: "clean", data: "cifar10", net: "resnet56", method: "valla", row: vallaRow},
	{name: "resnet20-kfac", wanted: 240, experiment: "cifar10", profile: "clean", data: "cifar10", net: "resnet20", method: "lla", row: "LLA KFAC", set: [][2]string{{"structure", "kfac"}}},
	{name: "lla-full", wanted: 60, data: "37,000 × 9", method: "lla", row: "LLA of 11,201 weights", own: fullLaplace},
	{name: "k-means", wanted: 5, data: "50,000 × 3,072", method: "k-means", row: "100 centres", own: kMeans},
}

// chosenFits returns the rows that names lists, separated by commas. A listed name also stands for
// rows whose name goes on with a hyphen. chosenFits returns all rows for "".
func chosenFits(names string) ([]fit, error) {
	if names == "" {
		return fits, nil
	}
	var all []string
	chosen := map[string]bool{}
	for _, name := range strings.Split(names, ",") {
		found := false
		for _, f := range fits {
			if f.name == name || strings.HasPrefix(f.name, name+"-") {
				chosen[f.name], found = true, true
			}
			all = append(all, f.name)
		}
		if !found {
			return nil, fmt.Errorf("--fits: no row %q, expected some of %s", name, strings.Join(all[:len(fits)], ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(fits), func(f fit) bool { return !chosen[f.name] }), nil
}

// fitsExperiment stands in place of the experiment in the cells of the table. The name of the row
// stands in place of the profile.
const fitsExperiment = "fits"

// exitAbsent is the exit code of a process whose row lacks its data.
const exitAbsent = 3

// allFits measures the rows, each in a process of its own, and prints the table. Rows that are
// finished in the folder are not measured again.
func (c *command) allFits(ctx context.Context, stdout io.Writer) error {
	chosen, err := chosenFits(c.names)
	if err != nil {
		return err
	}
	r, notes := fitsReport{session: newSession()}, map[string]string{}
	for _, f := range chosen {
		for seed := range c.seeds {
			if ctx.Err() != nil {
				break
			}
			fmt.Fprintf(c.progress, "%s, seed %d\n", f.name, seed)
			switch e := c.elsewhere(ctx, f.name, seed); {
			case errors.Is(e, fs.ErrNotExist):
				notes[f.name] = "skipped: its data are absent"
			case e != nil:
				err = errors.Join(err, fmt.Errorf("%s, seed %d: %w", f.name, seed, e))
			}
		}
	}
	return errors.Join(err, ctx.Err(), c.printFits(r, chosen, notes, stdout))
}

// elsewhere measures a row in a process of its own. It wraps fs.ErrNotExist if its data are absent.
func (c *command) elsewhere(ctx context.Context, name string, seed int) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, "--one", name, "--seed", strconv.Itoa(seed), "--dir", c.dir, "--data", c.data)
	cmd.Stdout, cmd.Stderr = c.progress, c.progress
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute // in which it writes its checkpoint
	err = cmd.Run()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == exitAbsent {
		return fs.ErrNotExist
	}
	return err
}

// oneFit measures a row in this process and keeps its cell.
func (c *command) oneFit(ctx context.Context, _ io.Writer) error {
	i := slices.IndexFunc(fits, func(f fit) bool { return f.name == c.one })
	if i < 0 {
		return fmt.Errorf("--one: no row %q", c.one)
	}
	if fits[i].own != nil {
		return fits[i].alone(ctx, c)
	}
	return fits[i].cells(ctx, c)
}

// cells measures the row of an experiment.
func (f fit) cells(ctx context.Context, c *command) error {
	e, err := experiments.Open(f.experiment, f.profile)
	if err != nil {
		return err
	}
	if err := (experiments.Overrides{Methods: []string{f.method}, Seeds: []uint64{uint64(c.seed)}, Net: f.net}).Apply(e); err != nil {
		return err
	}
	o := experiments.Options{Data: c.data, Dir: c.dir, Memory: memoryLimit, OnProgress: c.tell()}
	if f.net != "" { // which nobody wants to train
		o.Weights = filepath.Join(filepath.Dir(c.data), filepath.FromSlash(strings.ReplaceAll(e.Network.Weights, "NET", f.net)))
	}
	e.Name, e.Profile, e.Data, e.Scoring = fitsExperiment, f.name, []string{f.data}, spec.Scoring{}
	if e.Methods, err = f.only(e.Methods); err != nil {
		return err
	}
	return experiments.Run(ctx, e, o)
}

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
func (c *command) tell() func(what string, p train.Progress) {
	last := time.Now()
	return func(what string, p train.Progress) {
		if time.Since(last) < 10*time.Second {
			return
		}
		last = time.Now()
		fmt.Fprintf(c.progress, "%s: %d of %d %s\n", what, p.Done, p.Total, p.Unit)
	}
}
