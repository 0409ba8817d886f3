package data

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
)

func rowNumbers(rows ...int64) *tensor.Dense { return array([]int{len(rows)}, rows) }

func TestUCI(t *testing.T) {
	x, y := dense.Of([]float64{1, 2, 3, 4, 5, 6, 7, 8}, 4, 2), dense.Of([]float64{-1, -2, -3, -4}, 4, 1)
	path := putNPZ(t, "X y test_0 test_1", x, y, rowNumbers(0), rowNumbers(3, 1))
	train, test, err := UCI(path, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		got  *tensor.Dense
		want []float64
	}{
		{"train X", train.X, []float64{1, 2, 5, 6}}, {"train Y", train.Y, []float64{-1, -3}},
		{"test X", test.X, []float64{7, 8, 3, 4}}, {"test Y", test.Y, []float64{-4, -2}},
	} {
		if !slices.Equal(c.got.Float64s(), c.want) {
			t.Errorf("%s %v, want %v", c.what, c.got.Data(), c.want)
		}
	}
	if !slices.Equal(train.Features, []string{"x0", "x1"}) || train.Targets[0] != "y" {
		t.Errorf("features %q, target %q", train.Features, train.Targets)
	}
}

func TestUCIErrors(t *testing.T) {
	x, y := dense.Of([]float64{1, 2, 3, 4}, 4, 1), dense.Of([]float64{-1, -2, -3, -4}, 4, 1)
	with := func(rows *tensor.Dense) string { return putNPZ(t, "X y test_0 test_1", x, y, rows, rowNumbers(1)) }
	for name, c := range map[string]struct {
		path  string
		split int
		say   string
	}{
		"too large": {with(rowNumbers(0)), 2, "split 2, expected 0 to 1"},
		"negative":  {with(rowNumbers(0)), -1, "split -1, expected 0 to 1"},
		"none":      {putNPZ(t, "X y", x, y), 0, `no splits (arrays test_0, test_1, ...); it has "X", "y"`},
		"no y":      {putNPZ(t, "X test_0", x, rowNumbers(0)), 0, `no array "y"`},
		"row":       {with(rowNumbers(0, 4)), 0, `array "test_0", element 1: expected a row of 0 to 3 not named before, found 4`},
		"minus":     {with(rowNumbers(-1)), 0, "found -1"},
		"twice":     {with(rowNumbers(2, 2)), 0, "element 1"},
		"all":       {with(rowNumbers(0, 1, 2, 3)), 0, "none for training"},
		"type":      {with(array([]int{1}, []float64{1})), 0, "expected int64 of shape [T], found float64 of shape (1)"},
		"shape":     {with(array([]int{1, 1}, []int64{1})), 0, "of shape (1, 1)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := UCI(c.path, c.split)
			expectError(t, err, c.path+": ", c.say)
		})
	}
}

// In every split of the real sets, train and test together are all rows.
func TestFixtureUCI(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixture.Shared(t, "data", "uci"), "*.npz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sets: %v", err)
	}
	for _, path := range files {
		whole, err := ReadTable(path)
		if err != nil {
			t.Fatal(err)
		}
		n, d := whole.Values.Shape()[0], whole.Values.Shape()[1]-1
		for _, split := range []int{0, 19} {
			train, test, err := UCI(path, split)
			if err != nil {
				t.Fatal(err)
			}
			if train.N()+test.N() != n || train.X.Shape()[1] != d || test.N() == 0 {
				t.Errorf("%s, split %d: %d and %d of %d rows", path, split, train.N(), test.N(), n)
			}
			fixture.Close(t, path, []float64{sum(train.Y) + sum(test.Y)}, []float64{columnSum(whole, d)}, 1e-12)
		}
		if _, _, err := UCI(path, 20); err == nil {
			t.Errorf("%s has a split 20", path)
		}
	}
}

// The first row of the Boston set is known: CRIM 0.00632, ZN 18, INDUS 2.31,
// MEDV 24 (Harrison and Rubinfeld 1978). It is stored in Fortran order.
func TestFixtureBoston(t *testing.T) {
	table, err := ReadTable(fixture.Shared(t, "data", "uci", "boston.npz"))
	if err != nil {
		t.Fatal(err)
	}
	row := table.Values.Float64s()[:14]
	fixture.Close(t, "first row", []float64{row[0], row[1], row[2], row[13]}, []float64{0.00632, 18, 2.31, 24}, 1e-12)
}

// The data's README names the numbers of rows and columns.
func TestFixtureCSV(t *testing.T) {
	for _, c := range []struct {
		file, target  string
		rows, columns int
	}{
		{"airline_proxy/nycflights13_8feat.csv.gz", "ArrDelay", 273853, 9},
		{"taxi_proxy/green_2023-01_8feat.csv.gz", "total_amount", 67109, 9},
	} {
		path := fixture.Shared(t, "data", filepath.FromSlash(c.file))
		table, err := ReadTable(path)
		if err != nil {
			t.Fatal(err)
		}
		if !table.Values.Shape().Eq(tensor.Shape{c.rows, c.columns}) {
			t.Errorf("%s: shape %v, want %d, %d", path, table.Values.Shape(), c.rows, c.columns)
		}
		if _, err := table.Column(c.target); err != nil {
			t.Error(err)
		}
	}
}

func sum(t *tensor.Dense) float64 {
	s := 0.0
	for _, v := range t.Float64s() {
		s += v
	}
	return s
}

func columnSum(t *Table, at int) float64 {
	s := 0.0
	for row := range slices.Chunk(t.Values.Float64s(), len(t.Columns)) {
		s += row[at]
	}
	return s
}

// A folder or an unreadable file is an error with its name, like any other.
func TestReadTableOfFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.csv")
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := ReadTable(path)
	expectError(t, err, path+": ", "a folder of images for inputs of shape []")
}
