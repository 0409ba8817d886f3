package data

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/npy"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/tablefile"
)

// A Table is a file of named columns, or a batch of its rows.
type Table struct {
	Path    string        // where it was read, for messages
	Columns []string      // K unique names
	Values  *tensor.Dense // [N,K] float64; NaN where Words has the cell, finite elsewhere
	// Words has, for each column, the cells that are no finite numbers; nil for a column of
	// numbers, and nil altogether where all are. Only CSV and Parquet files have words.
	Words []*Words
	Notes []string // sentences on what looks wrong

	// X holds inputs that are no columns, such as images [N,C,H,W], in the type of the
	// file. Columns then are targets only. X is nil where all inputs are columns.
	X *tensor.Dense

	// Folders are the names of the classes that the column class of a folder of images numbers, in
	// alphabetical order; nil for other tables.
	Folders  []string
	Paddings []Padding // those of the reader, see [TableReader]
	Origins  []int     // numbers of the rows in the file, counting from 0, where rows were left out; otherwise nil

	text  bool // says that Words counts lines
	rows  int  // where there are neither Values nor X
	first int  // row of the file, counting from 0; −1 for a sample
}

// N returns the number of rows.
func (t *Table) N() int {
	switch {
	case t.X != nil:
		return t.X.Shape()[0]
	case t.Values != nil:
		return t.Values.Shape()[0]
	}
	return t.rows
}

// ReadTable reads the table at path with the default [TableReader].
func ReadTable(path string) (*Table, error) { return TableReader{}.Read(path) }

// A TableReader says how to read tables. Its zero value is ready to use.
type TableReader struct {
	// X and Y name the arrays of a .npz archive that hold the inputs and the targets. The
	// empty string means "X" and "y". Only a y that is not named may be absent.
	X, Y string
	// Arrays name the arrays of a .npz archive that hold the inputs, each [N,…], where the archive has no X. An
	// array of one number for each row becomes a column of its name, and another the columns of its elements,
	// such as x.0 and x.1.
	Arrays []string
	// Header says whether the first row of a text names the columns: "yes", "no" or, which ""
	// means too, "auto".
	Header string
	// Image is the shape [C,H,W] of the images that a folder is read as.
	Image []int
	// Names are columns that the table is known to have. A first row that has all these
	// names is the header, also if the names are numbers.
	Names []string
	// Times says that the timestamps of a Parquet file are read as numbers, microseconds since 1970
	// in the time zone of the file, and not as text.
	Times bool
	// Paddings say how lists of different lengths in a Parquet file are padded. The table and its sets remember them.
	Paddings []Padding
	// Format is "csv" or "parquet". The empty string means that the end of the file's name says the
	// format.
	Format string
}

// Read returns the table at path. The extension chooses the format:
//
//   - .csv, .tsv, .txt: text in UTF-8 with commas, semicolons, tabs or bars between the cells,
//     whichever the first lines have; also packed as .gz, .zst, .bz2 or .zip. The path
//     [Stdin] means such a text. A first row with a word is the header; without one the
//     columns are called x0, x1, ... A first row that may be either is an error, unless
//     Header says whether the row is the header.
//   - .parquet: columns of numbers, text, booleans, dates and times. A column of lists of one length becomes a column
//     for each element; Paddings make lists of different lengths such lists.
//   - .npy: an array [N] or [N,K], whose columns are called x0, x1, ...
//   - .npz: an archive of arrays. The array X [N] or [N,D] gives the columns x0, x1, ...
//     The array y [N] or [N,T] gives the last columns, under the array's name: a single one
//     is called y, several are called y0, y1, ... An X with more axes, such as images
//     [N,C,H,W], becomes no columns and stays an array. Arrays names inputs in place of X.
//   - a folder of PNG and JPEG files: X is uint8 [N,C,H,W], where Image is [C,H,W] and C is 1
//     for grey and 3 for red, green and blue. A folder that holds folders, or links to them, has a
//     folder for each class, and the table has the column class.
//
// Cells of text and Parquet that are no finite numbers become Words; an array must not have
// any. Errors name the file and, where it applies, the line and the column. Rows of different
// lengths, two columns of one name and a table without rows are errors.
func (r TableReader) Read(path string) (*Table, error) {
	s, err := r.Open(path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.All(0)
}

// arrays reads a NumPy file.
func (r TableReader) arrays(path string) (*Table, error) {
	if strings.HasSuffix(strings.ToLower(path), ".npy") {
		t, err := npy.Read(path)
		if err != nil {
			return nil, err
		}
		return arrayTable(path, t)
	}
	a, err := npy.ReadArchive(path)
	if err != nil {
		return nil, err
	}
	return r.archiveTable(path, a)
}

// arrayTable makes a table of an array [N] or [N,K].
func arrayTable(path string, t *tensor.Dense) (*Table, error) {
	n, k, err := tableShape(t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return newTable(path, numbered(k, "x"), Float64s(t), n)
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

// inputTable makes a table of the inputs in an archive: of X, or of several arrays.
func (r TableReader) inputTable(path string, a *npy.Archive) (*Table, error) {
	if _, ok := a.Get("X"); r.X == "" && !ok && r.Arrays != nil {
		return r.joinedTable(path, a)
	}
	x, err := require(path, a, cmp.Or(r.X, "X"))
	switch {
	case err != nil:
		return nil, err
	case x.Dims() < 3:
		return arrayTable(path, x)
	}
	return &Table{Path: path, X: x}, nil
}

// joinedTable makes a table of several arrays of inputs.
func (r TableReader) joinedTable(path string, a *npy.Archive) (*Table, error) {
	var table *Table
	for _, name := range r.Arrays {
		x, err := require(path, a, name)
		if err != nil {
			return nil, err
		}
		s := x.Shape()
		if s.Dims() == 0 || table != nil && s[0] != table.N() {
			return nil, fmt.Errorf("%s: array %q of shape %v, expected as many rows as %q", path, name, s, r.Arrays[0])
		}
		columns := elementNames(name, s[1:])
		if table == nil {
			table, err = newTable(path, columns, Float64s(x), s[0])
		} else {
			table, err = table.join(columns, Float64s(x))
		}
		if err != nil {
			return nil, err
		}
	}
	return table, nil
}

// elementNames names the elements of the rows of an array.
func elementNames(name string, shape []int) []string {
	if tensor.Shape(shape).TotalSize() == 1 {
		return []string{name}
	}
	names := []string{name}
	for _, n := range shape {
		var next []string
		for _, prefix := range names {
			for k := range n {
				next = append(next, fmt.Sprint(prefix, ".", k))
			}
		}
		names = next
	}
	return names
}

// archiveTable joins the arrays X and y of an archive.
func (r TableReader) archiveTable(path string, a *npy.Archive) (*Table, error) {
	table, err := r.inputTable(path, a)
	if err != nil {
		return nil, err
	}
	n := table.N()
	name := cmp.Or(r.Y, "y")
	if _, ok := a.Get(name); !ok && r.Y == "" {
		return table, nil
	}
	y, err := require(path, a, name)
	if err != nil {
		return nil, err
	}
	rows, t, err := tableShape(y)
	if err != nil || rows != n {
		return nil, fmt.Errorf("%s: array %q: expected shape [%d] or [%d,T] to go with %d rows of features, found %v",
			path, name, n, n, n, y.Shape())
	}
	names := []string{name}
	if t > 1 {
		names = numbered(t, name)
	}
	return table.join(names, Float64s(y))
}

// join returns a table with the columns of t, followed by the columns names with the values
// [N,len(names)].
func (t *Table) join(names []string, values []float64) (*Table, error) {
	k, more := len(t.Columns), len(names)
	n := len(values) / more
	joined := make([]float64, 0, n*(k+more))
	for i := range n {
		if k > 0 {
			joined = append(joined, t.Values.Float64s()[i*k:(i+1)*k]...)
		}
		joined = append(joined, values[i*more:(i+1)*more]...)
	}
	out, err := newTable(t.Path, append(t.Columns, names...), joined, n)
	if err == nil {
		out.X = t.X
	}
	return out, err
}

// newTable makes a table of n rows after checking its names and values.
func newTable(path string, columns []string, values []float64, n int) (*Table, error) {
	if err := checkNames(columns); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	k := len(columns)
	for i, v := range values {
		if !kernel.Finite(v) {
			return nil, fmt.Errorf("%s: row %d (counting from 0), column %q: expected a finite number, found %g",
				path, i/k, columns[i%k], v)
		}
	}
	return &Table{Path: path, Columns: columns, Values: dense.Of(values, n, k)}, nil
}

// checkNames returns an error unless names are different texts in UTF-8. Other text would not come back from a file of a model.
func checkNames(names []string) error {
	seen := make(map[string]bool, len(names))
	for _, c := range names {
		if !utf8.ValidString(c) {
			return notUTF8(c)
		}
		if seen[c] {
			return fmt.Errorf("two columns are called %q, expected unique names", c)
		}
		seen[c] = true
	}
	return nil
}

// notUTF8 is the error about a text.
func notUTF8(text string) error {
	return fmt.Errorf("expected text in UTF-8, found %s: save the table in UTF-8", tablefile.Quoted(text))
}

// Column returns the number of the column called name, counting from 0. The
// error for a missing one lists those that exist.
func (t *Table) Column(name string) (int, error) {
	if i := slices.Index(t.Columns, name); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("%s: no column %q; it has %s%s", t.Path, name, tablefile.Listed(t.Columns), settings.Nearest(name, t.Columns))
}

// Set divides the table into targets and features. The targets are the columns with the
// given names, in the order of the names. Without names the target is the last column that has values and is no index
// of pandas; if the table has an X, all its columns are targets. The features are the other columns, in
// the order of the table.
func (t *Table) Set(targets ...string) (*Set, error) {
	if len(t.Columns) == 0 {
		return nil, fmt.Errorf("%s: no targets beside X, expected an array y", t.Path)
	}
	if len(targets) == 0 {
		targets = t.Columns
		if t.X == nil {
			targets = t.usualTarget()
		}
	}
	at, err := t.targetColumns(targets)
	if err != nil {
		return nil, err
	}
	var rest []int
	set := &Set{Targets: slices.Clone(targets), X: t.X, Paddings: t.Paddings, Origins: t.Origins}
	if set.Y, err = t.Numbers(at); err != nil {
		return nil, err
	}
	if t.X != nil {
		return set, nil
	}
	for i, name := range t.Columns {
		if !slices.Contains(at, i) {
			rest, set.Features = append(rest, i), append(set.Features, name)
		}
	}
	if len(rest) == 0 {
		return nil, t.noFeature()
	}
	set.X, err = t.Numbers(rest)
	return set, err
}

func (t *Table) noFeature() error {
	return fmt.Errorf("%s: only the columns %s, expected a target and at least one feature", t.Path, tablefile.Listed(t.Columns))
}

// Numbers returns the columns with the given numbers, [N,len(at)]. A cell that is no finite
// number is an error.
func (t *Table) Numbers(at []int) (*tensor.Dense, error) {
	for _, j := range at {
		if w := t.wordsOf(j); w != nil {
			return nil, t.noNumber(j, w.List[0])
		}
	}
	return t.pick(at), nil
}

// wordsOf returns the words of a column, or nil.
func (t *Table) wordsOf(j int) *Words {
	if t.Words == nil {
		return nil
	}
	return t.Words[j]
}

// noNumber is the error about a cell of column j that is no number.
func (t *Table) noNumber(j int, w Word) error {
	expected := "a number"
	if v, err := strconv.ParseFloat(w.Text, 64); errors.Is(err, strconv.ErrRange) || err == nil && !kernel.Finite(v) {
		expected = "a finite number"
	}
	return t.cell(j, w, expected)
}

// cell is the error about a cell of column j.
func (t *Table) cell(j int, w Word, expected string) error {
	return fmt.Errorf("%s: expected %s, found %s", place(cmp.Or(w.Path, t.Path), t.text, w.At, t.Columns[j]), expected, tablefile.Quoted(w.Text))
}

// pick returns the columns with the given numbers, NaN for words.
func (t *Table) pick(at []int) *tensor.Dense {
	values := t.Values.Float64s()
	out := make([]float64, 0, t.Values.Shape()[0]*len(at))
	for row := range slices.Chunk(values, len(t.Columns)) {
		for _, j := range at {
			out = append(out, row[j])
		}
	}
	return dense.Of(out, t.Values.Shape()[0], len(at))
}

// require returns the array called name. The error for a missing one lists those that exist.
func require(path string, a *npy.Archive, name string) (*tensor.Dense, error) {
	if t, ok := a.Get(name); ok {
		return t, nil
	}
	return nil, fmt.Errorf("%s: no array %q; it has %s", path, name, tablefile.Listed(a.Names))
}
