// Package task stands between data and a network. It scales examples from the units of the
// data to the units of the network, turns the distribution of the network's outputs into a
// prediction in the units of the data, and scores predictions.
//
// A [Task] consists of [Inputs] and [Outputs]. Inputs are the columns of a table, or arrays
// such as images. Outputs belong to a [Regression] or to a [Classification].
package task

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// Task describes the inputs and the outputs of a network.
type Task struct {
	Inputs  Inputs  // how the network takes examples
	Outputs Outputs // what the network's outputs mean
	Scale   *Scale  // scale of the noise at each input, in which targets and outputs count; nil: one for all inputs
}

// Check returns an error if a field of the task is wrong.
func (t Task) Check() error {
	if err := t.Inputs.Check(); err != nil {
		return err
	}
	if t.Outputs == nil {
		return fmt.Errorf("no outputs, expected those of a regression or a classification")
	}
	seen := map[string]bool{}
	for _, name := range slices.Concat(t.Inputs.Columns(), t.Targets()) {
		if seen[name] {
			return fmt.Errorf("%q stands twice among the features and targets, expected different names", name)
		}
		seen[name] = true
	}
	if t.Scale != nil {
		return cmp.Or(t.Outputs.check(), t.Scale.check(t))
	}
	return t.Outputs.check()
}

// Examples returns the examples of a set as the network takes them, in the element type dt.
func (t Task) Examples(s *data.Set, dt tensor.Dtype) (gp.Examples, error) {
	if err := t.CheckSet(s); err != nil {
		return gp.Examples{}, err
	}
	in := t.Inputs
	in.origins = s.Origins
	x, err := in.Apply(s.X, dt)
	if err != nil {
		return gp.Examples{}, &InputError{err}
	}
	y, err := t.Outputs.encode(s.Y, dt)
	if err != nil {
		return gp.Examples{}, err
	}
	if t.Scale != nil {
		return t.Scale.Scaled(gp.Examples{X: x, Y: y})
	}
	return gp.Examples{X: x, Y: y}, nil
}

// TargetsOf returns the targets of examples, [N,T], in the units of the data.
func (t Task) TargetsOf(e gp.Examples) (*tensor.Dense, error) {
	if t.Scale == nil {
		return t.Outputs.decode(e.Y), nil
	}
	y, err := t.Scale.apply(e.X, e.Y, func(v, unit float64) float64 { return v * unit })
	if err != nil {
		return nil, err
	}
	return t.Outputs.decode(y), nil
}

// CheckSet returns an error unless a set has the task's features and targets, in their order, as many inputs as targets,
// and targets that the task takes.
func (t Task) CheckSet(s *data.Set) error {
	if err := CheckRows(s); err != nil {
		return err
	}
	if !slices.Equal(s.Features, t.Inputs.Features) {
		return fmt.Errorf("expected the features %s, found %s", list(t.Inputs.Features), list(s.Features))
	}
	if !slices.Equal(s.Targets, t.Targets()) {
		return fmt.Errorf("expected the targets %s, found %s", list(t.Targets()), list(s.Targets))
	}
	if c, ok := t.Outputs.(*Classification); ok && !slices.Equal(s.Labels, c.Names) {
		return fmt.Errorf("expected the labels %s of classes, found %s", list(c.Names), list(s.Labels))
	}
	err := t.Outputs.takes(s.Y)
	if at := (*TargetError)(nil); errors.As(err, &at) {
		at.Row = s.Origin(at.Row)
	}
	return err
}

// InputError says that a task does not take the inputs of a set.
type InputError struct{ Err error }

// Error implements error.
func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *InputError) Unwrap() error { return e.Err }

// TargetError says that a task does not take a target of a set.
type TargetError struct {
	Row    int    // row of the set, counting from 0
	Column string // name of the column
	Err    error  // what is wrong with the value
}

// Error implements error.
func (e *TargetError) Error() string {
	return fmt.Sprintf("row %d (counting from 0), target %q: %v", e.Row, e.Column, e.Err)
}

// Unwrap returns Err.
func (e *TargetError) Unwrap() error { return e.Err }

// rowMajor returns an error unless the elements of t lie in memory in their order.
func rowMajor(what string, t *tensor.Dense) error {
	switch {
	case t == nil || t.Dims() == 0:
		return fmt.Errorf("%s: expected an array of shape [N,…], found none", what)
	case t.RequiresIterator() || t.DataOrder().IsColMajor():
		return fmt.Errorf("%s: expected an array in row-major order, found a view or a transposed one", what)
	}
	return nil
}

// CheckRows returns an error unless a set has inputs and targets, as many of each.
func CheckRows(s *data.Set) error {
	if s == nil || s.X == nil || s.Y == nil || s.X.Dims() == 0 || s.Y.Dims() == 0 {
		return fmt.Errorf("a set without inputs or without targets, expected both")
	}
	if n, m := s.N(), s.Y.Shape()[0]; n != m {
		return fmt.Errorf("%d inputs and %d targets, expected as many of each", n, m)
	}
	return nil
}

// positive reports whether v is finite and above 0.
func positive(v float64) bool { return v > 0 && kernel.Finite(v) }

// list quotes names for a message: the first 20 names, and the number of other names.
func list(names []string) string {
	const most = 20
	text := fmt.Sprintf("%q", names[:min(len(names), most)])
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
