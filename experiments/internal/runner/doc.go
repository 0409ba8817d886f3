// Package runner runs experiments. It loads the data sets, trains or reads the networks, fits
// the methods with package valla, and scores them. Each score of a table is a cell, which is
// computed once and kept by package result.
package runner

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/sets"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/experiments/internal/spec"
	"github.com/go-valla/valla/train"
)

// Options are the circumstances of a run. The zero value is ready to use.
type Options struct {
	Data string // the folder with the folders of the data sets; "" means the folder of data.Folder
	Dir  string // the folder for results, see package result; "" means runs
	// Weights is a file of weights in place of the experiment's file. The file must exist. An
	// asterisk in the name is replaced by the name of the data set. "" means none.
	Weights  string
	Commands []string // command lines that repeat this run, for the report
	Memory   int64    // bytes that a step of a fit may need; 0 means the default of the method

	// KeepModels leaves each fitted model as a file NAME.valla in the folder models beside
	// the cells, which valla predict and valla eval take.
	KeepModels bool

	// Made takes made rows of the same sizes in place of the data sets, whose files and weights are not read.
	Made bool
	// Count keeps the operations that fits and predictions need at least, see result.Cost.
	Count bool

	// OnProgress is called with a description of the current work and its progress; nil means
	// that it is not called.
	OnProgress func(what string, p train.Progress)
	// OnCell is called with each cell in its order. fresh is true if this run has computed the cell.
	// nil means that it is not called.
	OnCell func(c *result.Cell, fresh bool)
}

// complete fills in the default folders.
func (o Options) complete() (Options, error) {
	var err error
	if o.Data == "" {
		o.Data, err = data.Folder()
	}
	if o.Dir == "" {
		o.Dir = "runs"
	}
	return o, err
}

// Progress returns the callback of a training or a fit that the arguments describe.
func (o Options) Progress(format string, args ...any) func(train.Progress) {
	if o.OnProgress == nil {
		return nil
	}
	what := fmt.Sprintf(format, args...)
	return func(p train.Progress) { o.OnProgress(what, p) }
}

// Check refuses an experiment with an unknown data set or an unknown form of the network.
func Check(e *spec.Experiment) error {
	if err := checkData(e, "data", e.Data); err != nil {
		return err
	}
	for i, row := range e.Methods {
		if err := checkData(e, fmt.Sprintf("methods[%d].data", i), row.Data); err != nil {
			return err
		}
	}
	return checkForm(e)
}

func checkData(e *spec.Experiment, key string, names []string) error {
	var known []string
	for _, s := range sets.All() {
		known = append(known, s.Name)
	}
	for _, name := range names {
		if _, err := sets.Lookup(name); err != nil {
			return &spec.Error{File: e.File, Key: key, Expected: "one of " + strings.Join(known, ", "), Found: fmt.Sprintf("%q", name)}
		}
	}
	return nil
}

// checkForm describes the network for images of an arbitrary size. A form that does not
// suit the examples of a data set is found later.
func checkForm(e *spec.Experiment) error {
	_, err := e.Network.Describe([]int{3, 32, 32}, 10)
	if errors.Is(err, valla.ErrSetting) {
		return fmt.Errorf("%s: network: %w", e.File, err)
	}
	return nil
}
