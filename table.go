package valla

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/dense"
)

// Set returns the examples in a table: the inputs that the model reads, [N,D] in the order of its features, or
// [N,…] where the inputs are no columns, and the targets, if they are wanted; otherwise Y is nil. If the model
// has an encoding of columns, the encoding turns the cells into numbers.
//
// Set finds columns by name. Their order does not matter, other columns are ignored, and a missing column is an
// error. A table without names of its own (x0, x1, … as [data.TableReader] calls them) must have exactly as many
// columns beside the targets as the model reads. Set takes these columns in the order of the table.
func (m *Model) Set(t *data.Table, targets bool) (*data.Set, error) {
	f, err := m.find(t.Path, t.Columns, t.X != nil)
	if err == nil && targets {
		err = f.need()
	}
	if err != nil {
		return nil, err
	}
	if targets {
		set, _, err := m.examples(t, f.features, f.targets, nil)
		return set, err
	}
	x, err := m.inputs(t, f.features, nil)
	return &data.Set{Features: m.Task.Inputs.Features, X: x}, err
}

// found has the indices of the columns that a model reads.
type found struct {
	features []int // nil where the inputs are no columns
	targets  []int // nil unless all targets are there
	missing  error // says that a target is missing
}

// need returns an error unless the targets are there.
func (f found) need() error {
	if f.targets == nil {
		return f.missing
	}
	return nil
}

// find finds the columns of a file at path.
func (m *Model) find(path string, columns []string, images bool) (f found, err error) {
	f.targets = m.targetsIn(path, columns, images)
	absent := slices.DeleteFunc(slices.Clone(m.Task.Targets()), func(name string) bool { return slices.Contains(columns, name) })
	if len(absent) == 0 { // columns of an array have no names of their own
		absent = m.Task.Targets()
	}
	f.missing = fmt.Errorf("%s: no column %s, the target; it has %q", path, quoted(absent), columns[:min(20, len(columns))])
	if m.Task.Inputs.Features == nil {
		if !images {
			err = fmt.Errorf("%s: expected inputs of shape %v, found the columns %q", path, m.Task.Inputs.Shape, columns[:min(20, len(columns))])
		}
		return f, err
	}
	f.features, err = m.featuresIn(path, columns, f.targets)
	return f, err
}

// inputs returns the inputs of a table, whose columns at are those that the model reads, and
// counts the values that are missing without a precedent.
func (m *Model) inputs(t *data.Table, at []int, lacking map[string]int) (*tensor.Dense, error) {
	switch {
	case m.Task.Inputs.Features == nil:
		return t.X, nil
	case m.Task.Inputs.Encoding != nil:
		return m.Task.Inputs.Encoding.Apply(t, at, lacking)
	}
	return t.Numbers(at)
}

// examples returns the examples of a table, whose columns at features and targets are those
// of the model, and how many rows were left out.
func (m *Model) examples(t *data.Table, features, targets []int, lacking map[string]int) (set *data.Set, left int, err error) {
	in := m.Task.Inputs
	if in.Encoding != nil && in.Encoding.Missing == data.MissingDrop {
		if t, left, err = in.Encoding.Complete(t, features, targets); err != nil {
			return nil, left, err
		}
	}
	set = &data.Set{Features: in.Features, Targets: m.Task.Targets(), Encoding: in.Encoding, Paddings: in.Paddings, Origins: t.Origins}
	if set.X, err = m.inputs(t, features, lacking); err != nil {
		return nil, left, err
	}
	if c, ok := m.Task.Outputs.(*task.Classification); ok && c.Names != nil {
		set.Labels = c.Names
		set.Y, err = t.Labels(targets[0], c.Names)
	} else {
		set.Y, err = t.Numbers(targets)
	}
	if err != nil {
		return nil, left, err
	}
	return set, left, nil
}

// targetsIn returns the numbers of the targets' columns, or nil. In an archive without
// names those are the last, of the array y.
func (m *Model) targetsIn(path string, columns []string, images bool) []int {
	names := m.Task.Targets()
	if !images && len(columns) == len(m.Task.Inputs.Columns()) && unnamed(columns) {
		return nil // no more than the features
	}
	var at []int
	for _, name := range names {
		if i := slices.Index(columns, name); i >= 0 {
			at = append(at, i)
		}
	}
	if len(at) == len(names) {
		return at
	}
	first := len(columns) - len(names)
	if archived := strings.HasSuffix(strings.ToLower(path), ".npz"); !archived || first < 0 || columns[first] != "y" && columns[first] != "y0" {
		return nil // y is absent, or has another number of columns
	}
	at = nil
	for i := range names {
		at = append(at, first+i)
	}
	return at
}

// featuresIn returns the numbers of the columns that the model reads.
func (m *Model) featuresIn(path string, columns []string, targets []int) ([]int, error) {
	names := m.Task.Inputs.Columns()
	var others []string
	for i, c := range columns {
		if !slices.Contains(targets, i) {
			others = append(others, c)
		}
	}
	e := m.Task.Inputs.Encoding
	if some := e != nil && len(e.Omitted)+len(e.ID) > 0; unnamed(others) && !some {
		return inOrder(path, names, len(others))
	}
	at := make([]int, len(names))
	for i, name := range names {
		var err error
		if at[i], err = (&data.Table{Path: path, Columns: columns}).Column(name); err != nil {
			return nil, err
		}
	}
	return at, nil
}

// inOrder takes the first n columns for the features.
func inOrder(path string, features []string, n int) ([]int, error) {
	if n != len(features) {
		return nil, fmt.Errorf("%s: expected %d columns without names%s, found %d", path, len(features), named(features), n)
	}
	return dense.Indices(n), nil
}

// unnamed says whether columns, of which there are some, are called x0, x1, …
func unnamed(columns []string) bool {
	if len(columns) == 0 {
		return false
	}
	for i, c := range columns {
		if c != "x"+strconv.Itoa(i) {
			return false
		}
	}
	return true
}

// quoted lists names in a message.
func quoted(names []string) string {
	var list []string
	for _, n := range names {
		list = append(list, strconv.Quote(n))
	}
	return strings.Join(list, " or ")
}
