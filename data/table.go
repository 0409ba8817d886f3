package data

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data/npy"
)

// A Table is a file of numbers in named columns.
type Table struct {
	Path    string   // where it was read, for messages
	Columns []string // K unique names
	Values  *tensor.Dense
	// Values is [N,K] float64, all finite.
}

// ReadTable reads the table at path with the default [TableReader].
func ReadTable(path string) (*Table, error) { return TableReader{}.Read(path) }

// A TableReader says how to read tables. Its zero value is ready to use.
type TableReader struct {
	// X and Y name the arrays of a .npz archive that hold the features and the
	// target. "" means "X", which must be there, and "y", which may be.
	X, Y string
}

// Read returns the table at path. The extension chooses the format:
//
//   - .csv, .csv.gz: comma-separated numbers. A first row with a cell that is no
//     number is the header; without one the columns are called x0, x1, ...
//   - .npy: an array [N] or [N,K], columns x0, x1, ...
//   - .npz: the array X [N] or [N,D], columns x0, x1, ..., and then the array y
//     [N] or [N,1] as the last column, under the array's name.
//
// Errors name the file and, where it applies, the line and the column. A cell
// that is not a finite number, rows of different lengths, two columns of one
// name and a table without rows are errors.
func (r TableReader) Read(path string) (*Table, error) {
	lower := strings.ToLower(path)
	switch {
	case strings.HasSuffix(lower, ".csv"), strings.HasSuffix(lower, ".csv.gz"):
		return readCSV(path)
	case strings.HasSuffix(lower, ".npy"):
		t, err := npy.Read(path)
		if err != nil {
			return nil, err
		}
		return arrayTable(path, t)
	case strings.HasSuffix(lower, ".npz"):
		a, err := npy.ReadArchive(path)
		if err != nil {
			return nil, err
		}
		return r.archiveTable(path, a)
	}
	return nil, fmt.Errorf("%s: expected a file called .csv, .csv.gz, .npy or .npz", path)
}

// arrayTable makes a table of an array [N] or [N,K].
func arrayTable(path string, t *tensor.Dense) (*Table, error) {
	n, k, err := tableShape(t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return newTable(path, numbered(k), toFloat64(t), n)
}

// tableShape returns the rows and columns of an array [N] or [N,K].
func tableShape(t *tensor.Dense) (n, k int, err error) {
	switch s := t.Shape(); len(s) {
	case 1:
		return s[0], 1, nil
	case 2:
		return s[0], s[1], nil
	default:
		return 0, 0, fmt.Errorf("expected an array of shape [N] or [N,K], found %v", s)
	}
}

// archiveTable joins the arrays X and y of an archive.
func (r TableReader) archiveTable(path string, a *npy.Archive) (*Table, error) {
	x, err := require(path, a, orElse(r.X, "X"))
	if err != nil {
		return nil, err
	}
	table, err := arrayTable(path, x)
	if err != nil {
		return nil, err
	}
	name := orElse(r.Y, "y")
	if _, ok := a.Get(name); !ok && r.Y == "" {
		return table, nil
	}
	y, err := require(path, a, name)
	if err != nil {
		return nil, err
	}
	n, k := table.Values.Shape()[0], table.Values.Shape()[1]
	if rows, columns, err := tableShape(y); err != nil || rows != n || columns != 1 {
		return nil, fmt.Errorf("%s: array %q: expected shape [%d] or [%d,1] to go with %d rows of features, found %v",
			path, name, n, n, n, y.Shape())
	}
	joined := appendColumn(table.Values.Float64s(), toFloat64(y), k)
	return newTable(path, append(table.Columns, name), joined, n)
}

// appendColumn puts one more value at the end of each row of k values.
func appendColumn(rows, column []float64, k int) []float64 {
	out := make([]float64, 0, len(rows)+len(column))
	for i, v := range column {
		out = append(append(out, rows[i*k:(i+1)*k]...), v)
	}
	return out
}

// newTable makes a table of n rows after checking its names and values.
func newTable(path string, columns []string, values []float64, n int) (*Table, error) {
	if err := unique(columns); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	k := len(columns)
	for i, v := range values {
		if !finite(v) {
			return nil, fmt.Errorf("%s: row %d (counting from 0), column %q: expected a finite number, found %g",
				path, i/k, columns[i%k], v)
		}
	}
	return &Table{Path: path, Columns: columns, Values: newMatrix(values, n, k)}, nil
}

func unique(columns []string) error {
	seen := make(map[string]bool, len(columns))
	for _, c := range columns {
		if seen[c] {
			return fmt.Errorf("two columns are called %q, expected unique names", c)
		}
		seen[c] = true
	}
	return nil
}

// Column returns the number of the column called name, counting from 0. The
// error for a missing one lists those that exist.
func (t *Table) Column(name string) (int, error) {
	if i := slices.Index(t.Columns, name); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("%s: no column %q; it has %s", t.Path, name, listed(t.Columns))
}

// Set returns the table as features and the target called target; "" means the
// last column. The features keep their order.
func (t *Table) Set(target string) (*Set, error) {
	at, k := len(t.Columns)-1, len(t.Columns)
	if target != "" {
		var err error
		if at, err = t.Column(target); err != nil {
			return nil, err
		}
	}
	if k < 2 {
		return nil, fmt.Errorf("%s: only the column %q, expected a target and at least one feature", t.Path, t.Columns[0])
	}
	values, n := t.Values.Float64s(), t.Values.Shape()[0]
	x, y := make([]float64, 0, n*(k-1)), make([]float64, 0, n)
	for row := range slices.Chunk(values, k) {
		x = append(append(x, row[:at]...), row[at+1:]...)
		y = append(y, row[at])
	}
	return &Set{
		Features: slices.Concat(t.Columns[:at], t.Columns[at+1:]),
		Target:   t.Columns[at],
		X:        newMatrix(x, n, k-1),
		Y:        newMatrix(y, n, 1),
	}, nil
}

// require returns the array called name; its error lists those that exist.
func require(path string, a *npy.Archive, name string) (*tensor.Dense, error) {
	if t, ok := a.Get(name); ok {
		return t, nil
	}
	return nil, fmt.Errorf("%s: no array %q; it has %s", path, name, listed(a.Names))
}

func orElse(s, standard string) string {
	if s == "" {
		return standard
	}
	return s
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
