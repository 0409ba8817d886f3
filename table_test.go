package valla

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"
	"pgregory.net/rapid"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/npy"
)

// numberTable returns a table of two rows in which column j holds 10+j and 20+j.
func numberTable(path string, columns ...string) *data.Table {
	var v []float64
	for i := range 2 {
		for j := range columns {
			v = append(v, float64(10*(i+1)+j))
		}
	}
	return &data.Table{Path: path, Columns: columns, Values: denseOf(v, 2, len(columns))}
}

// reading returns a model that reads columns.
func reading(features []string, targets ...string) *Model {
	return &Model{Task: task.Task{Inputs: task.Inputs{Features: features, Shape: []int{len(features)}}, Outputs: &task.Regression{Names: targets, NoiseVariance: 1}}}
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
			m := reading(c.features, c.target)
			in, err := m.Set(c.table, false)
			if c.x == nil {
				oneLine(t, err, c.err)
			} else if err != nil {
				t.Error(err)
			} else if got := in.X.Float64s(); !slices.Equal(got, []float64{c.x[0], c.x[1], c.x[0] + 10, c.x[1] + 10}) {
				t.Errorf("columns %v, want %v first", got, c.x)
			}
			set, err := m.Set(c.table, true)
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
			if got := set.Y.Float64s(); !slices.Equal(got, []float64{c.y, c.y + 10}) || !slices.Equal(set.X.Float64s(), in.X.Float64s()) {
				t.Errorf("targets %v, want %v first; inputs %v", got, c.y, set.X.Float64s())
			}
			if !slices.Equal(set.Features, c.features) || !slices.Equal(set.Targets, []string{c.target}) {
				t.Errorf("names %q, %q", set.Features, set.Targets)
			}
		})
	}
}

func TestColumnsOfSeveralTargets(t *testing.T) {
	m := reading([]string{"a", "b"}, "y", "z")
	for _, table := range []*data.Table{
		numberTable("t.csv", "z", "a", "y", "b"), numberTable("t.npz", "x0", "x1", "y0", "y1"),
	} {
		set, err := m.Set(table, true)
		if err != nil {
			t.Fatal(err)
		}
		x, y := []float64{11, 13, 21, 23}, []float64{12, 10, 22, 20}
		if table.Path == "t.npz" {
			x, y = []float64{10, 11, 20, 21}, []float64{12, 13, 22, 23}
		}
		if !slices.Equal(set.X.Float64s(), x) || !slices.Equal(set.Y.Float64s(), y) {
			t.Errorf("%s: X %v, Y %v", table.Path, set.X, set.Y)
		}
	}
	_, err := m.Set(numberTable("t.csv", "a", "b", "y"), true)
	oneLine(t, err, `t.csv: no column "z", the target; it has ["a" "b" "y"]`)
	// The array y of an archive has as many columns as there are targets.
	for _, c := range []struct{ targets, columns []string }{
		{[]string{"y"}, []string{"x0", "x1", "y0", "y1"}},
		{[]string{"y", "z"}, []string{"x0", "x1", "y0", "y1", "y2"}},
		{[]string{"y0", "y1"}, []string{"x0", "x1", "y"}},
	} {
		_, err := reading([]string{"x0", "x1"}, c.targets...).Set(numberTable("t.npz", c.columns...), true)
		oneLine(t, err, "t.npz: no column ", "the target; it has", c.columns[len(c.columns)-1])
	}
}

// A table read from a file goes into the model that a set of it trained, images too.
func TestColumnsOfFiles(t *testing.T) {
	dir := t.TempDir()
	images := tensor.New(tensor.WithShape(4, 1, 2, 2), tensor.WithBacking([]uint8{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}))
	labels := denseOf([]float64{0, 1, 0, 1}, 4)
	write := func(name string, arrays ...*tensor.Dense) *data.Table {
		path := filepath.Join(dir, name)
		if err := npy.WriteArchive(path, []string{"X", "y"}[:len(arrays)], arrays); err != nil {
			t.Fatal(err)
		}
		table, err := data.ReadTable(path)
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	table := write("i.npz", images, labels)
	set, err := table.Set()
	if err != nil {
		t.Fatal(err)
	}
	o := TrainOptions{Network: Network{Form: "cnn", Filters: []int{2}, Hidden: []int{2}}, Classes: true, Training: Training{Iterations: 2, Validation: new(0.0)}}
	m, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := m.Set(table, true)
	if err != nil || again.X != table.X || again.Features != nil || !slices.Equal(again.Y.Float64s(), labels.Float64s()) {
		t.Errorf("set %+v, error %v", again, err)
	}
	in, err := m.Set(write("x.npz", images), false)
	if err != nil || in.Y != nil || in.X.Dtype() != tensor.Uint8 || len(predict(t, m, in.X).Probs) != 8 {
		t.Errorf("inputs %v, error %v", in, err)
	}
	_, err = m.Set(write("x.npz", images), true)
	oneLine(t, err, "x.npz", `no column "y", the target`)
	_, err = m.Set(numberTable("t.csv", "a", "b"), false)
	oneLine(t, err, `t.csv: expected inputs of shape [1 2 2], found the columns ["a" "b"]`)
}

// Whatever the order of the columns and however many others there are, a model reads its
// own.
func TestColumnsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, others := rapid.IntRange(1, 6).Draw(t, "features"), rapid.IntRange(0, 4).Draw(t, "others")
		features := make([]string, n)
		for i := range features {
			features[i] = fmt.Sprint("f", i)
		}
		columns := append(slices.Clone(features), "y")
		for i := range others {
			columns = append(columns, fmt.Sprint("o", i))
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0))
		rng.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
		set, err := reading(features, "y").Set(numberTable("t.csv", columns...), true)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range append(features, "y") {
			want := float64(10 + slices.Index(columns, f))
			got := set.Y.Float64s()[0]
			if i < n {
				got = set.X.Float64s()[i]
			}
			if got != want {
				t.Fatalf("%s is %g, want %g in %s", f, got, want, strings.Join(columns, " "))
			}
		}
	})
}
