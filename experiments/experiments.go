// Package experiments runs the paper's experiments and reports them: which data, which
// network, which methods with which settings. An experiment is a YAML file; what it leaves
// are JSON files, one for each cell of its tables, and a page made of them.
//
// Networks are trained and methods are fitted by package valla, with the settings that the
// command line takes: a row of a table is what "valla fit" gives with the same settings. A
// new method of package gp/method and a new data set of package data/sets can be named in
// the files at once.
package experiments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-valla/valla/experiments/internal/report"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/experiments/internal/runner"
	"github.com/go-valla/valla/experiments/internal/spec"
)

// ErrUnknown is wrapped where there is no experiment of a name.
var ErrUnknown = errors.New("unknown experiment")

// Experiment is an experiment under one of its profiles.
type Experiment = spec.Experiment

// Cell is one finished cell of a table.
type Cell = result.Cell

// Options say how an experiment is run.
type Options = runner.Options

// Overrides are settings in the place of an experiment's.
type Overrides = runner.Overrides

// Open reads an experiment under one of its profiles, "" for the first: an embedded one by
// its name, or a file whose name ends in .yaml or .yml.
func Open(name, profile string) (*Experiment, error) {
	e, err := open(name, profile)
	if err != nil {
		return nil, err
	}
	return e, runner.Check(e)
}

func open(name, profile string) (*Experiment, error) {
	if strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") {
		return spec.ReadFile(name, profile)
	}
	text, ok := spec.Text(name)
	if !ok {
		return nil, fmt.Errorf("experiments: %w %q, expected one of %s, or a file NAME.yaml", ErrUnknown, name, strings.Join(spec.Names(), ", "))
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

// Methods returns the names of the methods that a row of an experiment can have: "map", the
// network alone, and those of package gp/method.
func Methods() []string { return spec.Methods() }

// Run runs what is missing of an experiment, cell after cell. Finished cells are skipped,
// fits that were interrupted go on from their checkpoints. Where ctx ends it returns an
// error that wraps ctx's.
func Run(ctx context.Context, e *Experiment, o Options) error {
	if err := runner.Run(ctx, e, o); err != nil {
		return fmt.Errorf("experiments: %w", err)
	}
	return nil
}

// WriteTables prints the tables of an experiment under one profile, of which results lie
// below dir.
func WriteTables(w io.Writer, dir, name, profile string) error {
	r, err := report.New(dir, nil)
	if err != nil {
		return err
	}
	r.WriteText(w, name, profile)
	return nil
}

// Report writes the results below dir as one HTML page and as Markdown into dir, and returns
// the names of the files.
func Report(dir string) ([]string, error) {
	list, err := List()
	if err != nil {
		return nil, err
	}
	var known []report.Known
	for _, e := range list {
		known = append(known, report.Known{Name: e.Name, About: e.About})
	}
	r, err := report.New(dir, known)
	if err != nil {
		return nil, err
	}
	return r.Write(dir)
}
