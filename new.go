package valla

import (
	"errors"
	"fmt"

	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
)

// New makes a model without a posterior of a network that a loop of one's own has trained, for example the loop of
// package train. The network has the given form. The task describes and scales the inputs and the outputs, see
// task.Standardized, task.StandardizedTargets and task.Classes; the task of a regression has the noise variance of
// the targets in the network's units, such as the mean squared residual on held-out rows.
//
// The model shares the weights with net. As with [FromWeights], the network may have been trained on the rows of a
// later fit.
func New(form layers.Form, net layers.Sequential, t task.Task) (_ *Model, err error) {
	defer explain("new", &err)
	if t.Inputs.Shape == nil && form != nil {
		t.Inputs.Shape = form.InputShape()
	}
	m := &Model{Form: form, Net: net, Task: t}
	if t.Outputs == nil {
		return nil, errors.New("no outputs, expected a regression or a classification")
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	if err := m.checkNet(); err != nil {
		return nil, err
	}
	m.Task.Inputs.Whole = layers.WholeInputs(form)
	for _, a := range layers.Arrays(net) {
		if i, v := graph.FirstNonFinite(a.Value); i >= 0 {
			return nil, fmt.Errorf("%s[%d] is %v, expected a finite number", a.Name, i, v)
		}
	}
	m.History = []Event{{Action: ActionWeights, Label: "MAP", Program: Version()}}
	return m, nil
}
