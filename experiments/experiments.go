// Package experiments runs the paper's experiments and reports them. An experiment is a YAML
// file that names data sets, a network, and methods with their settings. Its results are JSON
// files, one for each cell of its tables. [Report] makes a page of these results and of the results
// that are published with the program.
//
// Package valla trains the networks and fits the methods, with the settings that the command
// line takes. A row of a table is what "valla fit" gives with the same settings. Every method
// of package gp/method and every data set of package data/sets can be named in the files.
package experiments

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/go-valla/valla/experiments/internal/report"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/experiments/internal/runner"
	"github.com/go-valla/valla/experiments/internal/spec"
	"github.com/go-valla/valla/internal/settings"
)

// ErrUnknown is wrapped by the error about a name that no experiment has.
var ErrUnknown = errors.New("unknown experiment")

// Experiment is an experiment under one of its profiles.
type Experiment = spec.Experiment

// Cell is one finished cell of a table.
type Cell = result.Cell

// Options are the circumstances of a run, such as folders and callbacks.
type Options = runner.Options

// Overrides replace settings of an experiment; see Overrides.Apply.
type Overrides = runner.Overrides

// Open reads an experiment under one of its profiles; "" means the first profile. A name that
// ends in .yaml or .yml names a file. Any other name stands for an embedded experiment.
func Open(name, profile string) (*Experiment, error) {
	e, err := open(name, profile)
	if err != nil {
		return nil, err
	}
	if err := runner.Check(e); err != nil {
		return nil, err
	}
	return e, nil
}

func open(name, profile string) (*Experiment, error) {
	if strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") {
		return spec.ReadFile(name, profile)
	}
	text, ok := spec.Text(name)
	if !ok {
		return nil, fmt.Errorf("experiments: %w %q, expected one of %s, or a file NAME.yaml%s", ErrUnknown, name, strings.Join(spec.Names(), ", "), settings.Nearest(name, spec.Names()))
	}
	return spec.Read(name+".yaml", text, profile)
}

// List returns the embedded experiments, under their first profiles.
func List() ([]*Experiment, error) {
	var list []*Experiment
	for _, name := range spec.Names() {
		e, err := Open(name, "")
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// Methods returns the names of the methods that a row of an experiment can have. These are
// "map", which is the network alone, and the methods of package gp/method.
func Methods() []string { return spec.Methods() }

// Run computes the missing cells of an experiment, one after the other. It skips finished
// cells, and it continues interrupted fits from their checkpoints and interrupted predictions of
// images after the last rows. If ctx ends first, it returns an error that wraps ctx's.
func Run(ctx context.Context, e *Experiment, o Options) error {
	if err := runner.Run(ctx, e, o); err != nil {
		return fmt.Errorf("experiments: %w", err)
	}
	return nil
}

// WriteTables prints the tables of an experiment under one profile. The results are read from
// the folder dir.
func WriteTables(w io.Writer, dir, name, profile string) error {
	return report.WriteText(w, dir, name, profile)
}

// Report writes the published results, and the results in the folder dir, as one HTML page and as
// Markdown to that folder. A cell of the folder stands instead of the published cell of the same
// method, settings, data set and seed. It returns the paths of both files, and a line for each
// damaged file, whose cell the report shows as missing. A folder that does not exist is an error.
func Report(dir string) (files, damaged []string, err error) {
	known, err := runner.Known()
	if err != nil {
		return nil, nil, err
	}
	cells, err := Published()
	if err != nil {
		return nil, nil, err
	}
	r, err := report.New(dir, known, cells...)
	if err != nil {
		return nil, nil, fmt.Errorf("experiments: %w", err)
	}
	files, err = r.Write(dir)
	return files, r.Damaged, err
}

// results holds the published cells of the embedded experiments, one on each line of NAME.jsonl.
//
//go:embed results
var results embed.FS

// Published returns the cells that are published with the program, in the order of the
// experiments. The program experiments/publish adds the cells of new runs.
func Published() ([]*Cell, error) {
	folder, err := fs.Sub(results, "results")
	if err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	cells, err := result.ReadPublished(folder, spec.Names())
	if err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	return cells, nil
}
