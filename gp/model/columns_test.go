package model

import (
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
)

// numberTable returns a table of two rows in which column j holds 10+j and 20+j.
func numberTable(path string, columns ...string) *data.Table {
	var v []float64
	for i := range 2 {
		for j := range columns {
			v = append(v, float64(10*(i+1)+j))
		}
	}
	return &data.Table{Path: path, Columns: columns, Values: matrix(v, 2, len(columns))}
}

func TestColumns(t *testing.T) {
	named := []string{"a", "b"}
	for _, c := range []struct {
		name     string
		features []string
		target   string
		table    *data.Table
		x        []float64 // first row; nil for an error
		y        float64   // first row; 0 for an error
		err      string
	}{
		{"in order", named, "y", numberTable("t.csv", "a", "b", "y"), []float64{10, 11}, 12, ""},
		{"other order", named, "y", numberTable("t.csv", "b", "y", "a"), []float64{12, 10}, 11, ""},
		{"more", named, "y", numberTable("t.csv", "b", "c", "y", "d", "a"), []float64{14, 10}, 12, ""},
		{"no target", named, "y", numberTable("t.csv", "b", "a"), []float64{11, 10}, 0, `t.csv: no column "y", the target`},
		{"missing", named, "y", numberTable("t.csv", "b", "y"), nil, 0, `t.csv: no column "a"; it has "b", "y"`},
		{"target alone", named, "y", numberTable("t.csv", "y"), nil, 0, `t.csv: no column "a"; it has "y"`},
		{"unnamed inputs", named, "y", numberTable("t.npy", "x0", "x1"), []float64{10, 11}, 0, `no column "y"`},
		{"unnamed, too many", named, "y", numberTable("t.npy", "x0", "x1", "x2"), nil, 0, "expected 2 columns without names"},
		{"unnamed, too few", named, "y", numberTable("t.npy", "x0"), nil, 0, "expected 2 columns without names"},
		{"archive", named, "price", numberTable("t.npz", "x0", "x1", "y"), []float64{10, 11}, 12, ""},
		{"archive of inputs", named, "price", numberTable("t.npz", "x0", "x1"), []float64{10, 11}, 0, `no column "price"`},
		{"array, last", []string{"x0", "x1"}, "x2", numberTable("t.npy", "x0", "x1", "x2"), []float64{10, 11}, 12, ""},
		{"array, inputs", []string{"x0", "x1"}, "x2", numberTable("t.npy", "x0", "x1"), []float64{10, 11}, 0, `no column "x2"`},
		{"array, first", []string{"x1", "x2"}, "x0", numberTable("t.npy", "x0", "x1", "x2"), []float64{11, 12}, 10, ""},
		{"array, first, inputs", []string{"x1", "x2"}, "x0", numberTable("t.npy", "x0", "x1"), []float64{10, 11}, 0, `no column "x0"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newTestModel(t, tensor.Float64, 0)
			m.Features, m.Target = c.features, c.target
			x, err := m.Columns(c.table)
			if c.x == nil {
				oneLine(t, err, c.err)
			} else if err != nil {
				t.Error(err)
			} else if got := x.Float64s(); !slices.Equal(got, []float64{c.x[0], c.x[1], c.x[0] + 10, c.x[1] + 10}) {
				t.Errorf("columns %v, want %v first", got, c.x)
			}
			set, err := m.Set(c.table)
			if c.y == 0 {
				if c.x != nil || c.err != "" {
					oneLine(t, err, "t.")
				}
				if c.x != nil {
					oneLine(t, err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := set.Y.Float64s(); !slices.Equal(got, []float64{c.y, c.y + 10}) || !slices.Equal(set.X.Float64s(), x.Float64s()) {
				t.Errorf("targets %v, want %v first; inputs %v", got, c.y, set.X.Float64s())
			}
			if !slices.Equal(set.Features, c.features) || set.Target != c.target {
				t.Errorf("names %q, %q", set.Features, set.Target)
			}
		})
	}
}
