// Package runner runs experiments: it loads the data sets, trains or reads the networks,
// fits the methods by way of package valla, and scores them, cell by cell.
package runner

import (
	"fmt"
	"strings"

	"github.com/go-valla/valla/data/sets"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/experiments/internal/spec"
	"github.com/go-valla/valla/train"
)

// Options say how an experiment is run.
type Options struct {
	Data     string   // the folder of the data sets' folders
	Dir      string   // where the results go, see package result
	Weights  string   // a file of the network's weights, in the place of the experiment's; "" for none
	Commands []string // that make this experiment, for the report
	Memory   int64    // bytes that a step of a fit may need; 0: the method's default

	// OnProgress is called with what is done and how far it is; nil: not.
	OnProgress func(what string, p train.Progress)
	// OnCell is called with each cell in its order, finished now or before; nil: not.
	OnCell func(c *result.Cell, fresh bool)
}

// progress returns what tells OnProgress of one piece of work.
func (o Options) progress(format string, args ...any) func(train.Progress) {
	if o.OnProgress == nil {
		return nil
	}
	what := fmt.Sprintf(format, args...)
	return func(p train.Progress) { o.OnProgress(what, p) }
}

// Check makes sure that the data sets of an experiment are known.
func Check(e *spec.Experiment) error {
	names := e.Data
	for _, row := range e.Methods {
		names = append(names[:len(names):len(names)], row.Data...)
	}
	for _, name := range names {
		if _, err := sets.Lookup(name); err != nil {
			return &spec.Error{File: e.File, Key: "data", Expected: "one of " + strings.Join(Datasets(), ", "), Found: fmt.Sprintf("%q", name)}
		}
	}
	return nil
}

// Datasets returns the names of the data sets.
func Datasets() []string {
	var names []string
	for _, s := range sets.All() {
		names = append(names, s.Name)
	}
	return names
}
