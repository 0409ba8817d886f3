package valla

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
)

// Columns returns the inputs of a table that the model reads, [N,D] in the order of its
// features, or [N,…] where they are no columns.
//
// Columns are found by name: their order does not matter, others are passed over and a
// missing one is an error. A table without names of its own (x0, x1, … as
// [data.TableReader] calls them) must hold, beside the targets, exactly D columns, which
// are taken as they come.
func (m *Model) Columns(t *data.Table) (*tensor.Dense, error) {
	if m.Task.Inputs.Features == nil {
		return m.arrays(t)
	}
	at, err := m.featuresIn(t, m.targetsIn(t))
	if err != nil {
		return nil, err
	}
	return t.Pick(at), nil
}

// arrays returns inputs that are no named columns.
func (m *Model) arrays(t *data.Table) (*tensor.Dense, error) {
	if t.X == nil {
		return nil, fmt.Errorf("%s: expected inputs of shape %v, found the columns %q", t.Path, m.Task.Inputs.Shape, t.Columns[:min(20, len(t.Columns))])
	}
	return t.X, nil
}

// Set returns a table as the inputs of the model, see [Model.Columns], and the targets,
// which must be there.
func (m *Model) Set(t *data.Table) (*data.Set, error) {
	names := m.Task.Outputs.Targets()
	targets := m.targetsIn(t)
	if targets == nil {
		return nil, fmt.Errorf("%s: no column %s, the target; it has %q", t.Path, quoted(names), t.Columns[:min(20, len(t.Columns))])
	}
	set := &data.Set{Features: m.Task.Inputs.Features, Targets: names, Y: t.Pick(targets)}
	var err error
	set.X, err = m.Columns(t)
	return set, err
}

// targetsIn returns the numbers of the targets' columns, or nil. In an archive without
// names those are the last, of the array y.
func (m *Model) targetsIn(t *data.Table) []int {
	names := m.Task.Outputs.Targets()
	if t.X == nil && len(t.Columns) == len(m.Task.Inputs.Features) && unnamed(t.Columns) {
		return nil // no more than the features
	}
	var at []int
	for _, name := range names {
		if i := slices.Index(t.Columns, name); i >= 0 {
			at = append(at, i)
		}
	}
	if len(at) == len(names) {
		return at
	}
	first := len(t.Columns) - len(names)
	if archived := strings.HasSuffix(strings.ToLower(t.Path), ".npz"); !archived || first < 0 || t.X == nil && (first == 0 || t.Columns[first] == "x"+strconv.Itoa(first)) {
		return nil
	}
	at = nil
	for i := range names {
		at = append(at, first+i)
	}
	return at
}

// featuresIn returns the numbers of the features' columns.
func (m *Model) featuresIn(t *data.Table, targets []int) ([]int, error) {
	var others []string
	for i, c := range t.Columns {
		if !slices.Contains(targets, i) {
			others = append(others, c)
		}
	}
	if unnamed(others) {
		return m.inOrder(t, len(others))
	}
	at := make([]int, len(m.Task.Inputs.Features))
	for i, name := range m.Task.Inputs.Features {
		var err error
		if at[i], err = t.Column(name); err != nil {
			return nil, err
		}
	}
	return at, nil
}

// inOrder takes the first n columns for the features.
func (m *Model) inOrder(t *data.Table, n int) ([]int, error) {
	features := m.Task.Inputs.Features
	if n != len(features) {
		return nil, fmt.Errorf("%s: expected %d columns without names%s, found %d", t.Path, len(features), named(features), n)
	}
	at := make([]int, n)
	for i := range at {
		at[i] = i
	}
	return at, nil
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
