package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
)

// Columns returns the columns of a table that the model reads, [N,D], in the order of
// Features.
//
// They are found by name: their order does not matter, others are passed over and a
// missing one is an error. A table without names of its own (x0, x1, … as
// [data.TableReader] calls them) must hold, beside the target, exactly D columns,
// which are taken as they come.
func (m *Model) Columns(t *data.Table) (*tensor.Dense, error) {
	at, err := m.featuresIn(t, m.targetIn(t))
	if err != nil {
		return nil, err
	}
	return pick(t, at), nil
}

// Set returns a table as features in the order of the model, see [Model.Columns], and
// the target, which must be there.
func (m *Model) Set(t *data.Table) (*data.Set, error) {
	target := m.targetIn(t)
	if target < 0 {
		return nil, fmt.Errorf("%s: no column %q, the target; it has %s", t.Path, m.Target, list(t.Columns))
	}
	at, err := m.featuresIn(t, target)
	if err != nil {
		return nil, err
	}
	return &data.Set{Features: m.Features, Target: m.Target, X: pick(t, at), Y: pick(t, []int{target})}, nil
}

// targetIn returns the number of the target's column, or -1. In an archive without
// names that is the array y, which a table lists last.
func (m *Model) targetIn(t *data.Table) int {
	last := len(t.Columns) - 1
	switch at := slices.Index(t.Columns, m.Target); {
	case len(t.Columns) == len(m.Features) && unnamed(t.Columns):
		return -1 // no more than the features
	case at >= 0:
		return at
	case strings.HasSuffix(strings.ToLower(t.Path), ".npz") && last > 0 && t.Columns[last] != "x"+strconv.Itoa(last):
		return last
	}
	return -1
}

// featuresIn returns the numbers of the features' columns.
func (m *Model) featuresIn(t *data.Table, target int) ([]int, error) {
	others := slices.Clone(t.Columns)
	if target >= 0 {
		others = slices.Delete(others, target, target+1)
	}
	if unnamed(others) {
		return m.inOrder(t, len(others))
	}
	at := make([]int, len(m.Features))
	for i, name := range m.Features {
		var err error
		if at[i], err = t.Column(name); err != nil {
			return nil, err
		}
	}
	return at, nil
}

// inOrder takes the first n columns for the features.
func (m *Model) inOrder(t *data.Table, n int) ([]int, error) {
	d := len(m.Features)
	if n != d {
		return nil, fmt.Errorf("%s: expected %d columns without names (the features %s), found %d",
			t.Path, d, list(m.Features), n)
	}
	at := make([]int, d)
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

// pick returns the columns with the given numbers, [N, len(at)].
func pick(t *data.Table, at []int) *tensor.Dense {
	n, k := t.Values.Shape()[0], t.Values.Shape()[1]
	values := t.Values.Float64s()
	out := make([]float64, 0, n*len(at))
	for row := range slices.Chunk(values, k) {
		for _, j := range at {
			out = append(out, row[j])
		}
	}
	return tensor.New(tensor.WithShape(n, len(at)), tensor.WithBacking(out))
}

// checkSet makes sure that a set has the model's features in the model's order.
func (m *Model) checkSet(s *data.Set) error {
	if !slices.Equal(s.Features, m.Features) {
		return fmt.Errorf("expected the features %s, found %s", list(m.Features), list(s.Features))
	}
	return nil
}

// list quotes names for a message, the first few of many.
func list(names []string) string {
	const most = 20
	var quoted []string
	for _, n := range names[:min(len(names), most)] {
		quoted = append(quoted, strconv.Quote(n))
	}
	if more := len(names) - most; more > 0 {
		quoted = append(quoted, fmt.Sprintf("… (%d more)", more))
	}
	return strings.Join(quoted, ", ")
}
