package data

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/ram"
	"github.com/go-valla/valla/internal/tablefile"
)

// Stdin is the path that stands for the standard input, which must be text.
const Stdin = "-"

// A Stream is an open table, which is read in batches of rows. Memory does not grow with the
// file unless that is an array.
type Stream struct {
	Path    string   // of the file, for messages
	Columns []string // of the file
	Images  bool     // says that the inputs are no columns, see [Table]
	Name    string   // the column that names the rows of any table of its kind, and is read only where it is used; "" if there is none
	Rows    int64    // about how many there are; 0 if that is not known
	First   int      // rows of the file before the part; 0 for a part of a text, whose Path has its first byte

	source source          // gives the rows
	use    []used          // the columns that are read
	noted  map[string]bool // the notes that a batch has given
	lines  bool            // says that the file is text
	part   bool            // says that it is a Part, which may have no rows
	read   int             // rows so far
	limit  int64           // of memory for a batch; 0 means what the machine has left

	folders    []string // the names of the classes of images, see [Table]
	inputBytes int64    // of the inputs of a row that are no columns, which are read with their batch; 0 for others

	reader TableReader // that opened the file
}

// source gives the rows of a file.
type source interface {
	// next adds at most n rows to b. It returns io.EOF if there are none left.
	next(b *batch, n int) error
	close()
}

// used is a column that is read.
type used struct {
	name string // of the column
	at   int    // its number in the file
	text bool   // its cells are not taken for numbers
}

// batch gathers rows.
type batch struct {
	*Stream
	values []float64     // [n,K], NaN for words
	words  []*Words      // [K], the words of each column; nil for a column of numbers
	n      int           // number of rows
	notes  []string      // sentences on what looks wrong
	x      *tensor.Dense // of images
}

// Use says which columns are read, by their numbers in the file; others are never parsed. The
// cells of the columns with numbers in text stay text. Without Use all columns are read.
func (s *Stream) Use(at, text []int) {
	s.use = s.use[:0]
	for _, i := range at {
		s.use = append(s.use, used{s.Columns[i], i, slices.Contains(text, i)})
	}
}

// Column is [Table.Column] for the columns of the file.
func (s *Stream) Column(name string) (int, error) {
	return (&Table{Path: s.Path, Columns: s.Columns}).Column(name)
}

// Next returns a table of at most n rows with the columns in use, or [io.EOF] at the end. A
// table without rows is an error.
func (s *Stream) Next(n int) (*Table, error) {
	b := &batch{Stream: s, words: make([]*Words, len(s.use))}
	// The batch before says how much room this batch needs.
	b.values = make([]float64, 0, min(n, s.read, roomEvery)*len(s.use))
	if err := s.source.next(b, n); err != nil {
		if errors.Is(err, io.EOF) && s.read == 0 && !s.part {
			return nil, fmt.Errorf("%s: no rows", s.Path)
		}
		return nil, err
	}
	s.read += b.n
	return b.table()
}

// All returns a table of all rows that are left. A table that needs more than limit bytes or,
// if limit is 0, more than the machine has left, is an error, if possible before it is read.
func (s *Stream) All(limit int64) (*Table, error) {
	s.limit = limit
	if err := s.fits(s.Rows, 0); err != nil {
		return nil, err
	}
	return s.Next(math.MaxInt)
}

const (
	// cellBytes is what a cell of a table in memory needs: the number, a copy among the inputs
	// of a set, and another as the network takes it.
	cellBytes = 24
	// wordBytes is what a different word needs beside its text.
	wordBytes = 96
	// roomEvery is how many rows are read between two looks at the memory.
	roomEvery = 1 << 14
)

// fits returns an error if so many rows, whose words need text bytes, need more memory than
// they may.
func (s *Stream) fits(rows, text int64) error {
	need, left := int64(math.MaxInt64), s.limit
	if row := int64(max(1, len(s.use)))*cellBytes + s.inputBytes; rows < math.MaxInt64/2/row {
		need = text + rows*row
	}
	ok := need <= left
	if s.limit <= 0 {
		left, ok = ram.Fits(need)
	}
	if ok {
		return nil
	}
	return fmt.Errorf("%s: %d rows or more of %d columns need about %.3g MiB of memory, and may have %.3g MiB: take a part of the rows, or drop columns",
		s.Path, rows, len(s.use), float64(need)/(1<<20), float64(left)/(1<<20))
}

// room looks now and then whether there is memory for the rows of b.
func (b *batch) room() error {
	if b.n%roomEvery != 0 {
		return nil
	}
	text := int64(0)
	for _, w := range b.words {
		if w != nil {
			text += int64(w.size)
		}
	}
	return b.fits(int64(b.n), text)
}

// Close ends the reading.
func (s *Stream) Close() { s.source.close() }

// cell adds a cell of the used column j, which is at a line or row.
func (b *batch) cell(j int, cell []byte, at int) {
	u := &b.use[j]
	if !u.text {
		if v, ok := parse(cell); ok {
			if rounded(cell, v) {
				b.note(u.name, at, string(cell))
			}
			b.values = append(b.values, v)
			return
		}
	}
	b.word(j, cell, at)
}

// word adds a cell that is no number.
func (b *batch) word(j int, cell []byte, at int) {
	if b.words[j] == nil {
		b.words[j] = new(Words)
	}
	b.words[j].add(b.n, cell, at)
	b.values = append(b.values, math.NaN())
}

// note says once for a column that a number was rounded.
func (b *batch) note(column string, at int, found string) {
	if b.noted[column] {
		return
	}
	if b.noted == nil {
		b.noted = map[string]bool{}
	}
	b.noted[column] = true
	b.notes = append(b.notes, fmt.Sprintf("%s: %s is beyond 2⁵³ and was rounded: such numbers are not told apart.", place(b.Path, b.lines, at, column), found))
}

// table returns the rows as a table, whose words must be UTF-8.
func (b *batch) table() (*Table, error) {
	for j, w := range b.words {
		if w == nil {
			continue
		}
		for _, word := range w.List {
			if !utf8.ValidString(word.Text) {
				return nil, fmt.Errorf("%s: %w", place(b.Path, b.lines, word.At, b.use[j].name), notUTF8(word.Text))
			}
		}
	}
	t := &Table{Path: b.Path, Notes: b.notes, X: b.x, Folders: b.folders, Paddings: b.reader.Paddings, text: b.lines, first: b.First + b.read - b.n}
	for j, u := range b.use {
		t.Columns = append(t.Columns, u.name)
		if b.words[j] != nil {
			b.words[j].fill(b.n)
		}
	}
	if slices.ContainsFunc(b.words, func(w *Words) bool { return w != nil }) {
		t.Words = b.words
	}
	if len(b.use) > 0 {
		t.Values = dense.Of(b.values, b.n, len(b.use))
	}
	t.rows = b.n
	return t, nil
}

// place names a cell in a message.
func place(path string, lines bool, at int, column string) string {
	if lines {
		return fmt.Sprintf("%s:%d: column %q", path, at, column)
	}
	return fmt.Sprintf("%s: row %d (counting from 0), column %q", path, at, column)
}

// formats are the ends of the names of files that are read.
var formats = "csv, .tsv, .txt (also .gz, .zst, .bz2), .parquet, .npy or .npz"

// Open opens the table at path, see [TableReader.Read]. The stream must be closed.
func (r TableReader) Open(path string) (*Stream, error) {
	s, err := r.open(path)
	if err == nil {
		s.reader = r
	}
	return s, err
}

// open is Open without the reader of the stream.
func (r TableReader) open(path string) (*Stream, error) {
	lower := strings.ToLower(path)
	for _, packed := range []string{".gz", ".zst", ".bz2", ".zip"} {
		lower = strings.TrimSuffix(lower, packed)
	}
	if r.Format != "" {
		lower = "." + r.Format
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return r.openImages(path, nil)
	case path == Stdin:
		return r.openText("stdin", os.Stdin, os.Stdin, 0)
	case strings.HasSuffix(lower, ".csv"), strings.HasSuffix(lower, ".tsv"), strings.HasSuffix(lower, ".txt"):
		f, content, err := tablefile.Open(path)
		if err != nil {
			return nil, err
		}
		s, err := r.openText(path, content, f, content.Size())
		if err != nil {
			f.Close()
		}
		return s, err
	case strings.HasSuffix(lower, ".parquet"):
		return r.openParquet(path)
	case strings.HasSuffix(lower, ".npy"), strings.HasSuffix(lower, ".npz"):
		t, err := r.arrays(path)
		if err != nil {
			return nil, err
		}
		return t.stream(), nil
	}
	return nil, fmt.Errorf("%s: expected a file called .%s", path, formats)
}

// OpenText opens the text in content, see [TableReader.Read]. Path stands for the file in messages.
func (r TableReader) OpenText(path string, content io.Reader) (*Stream, error) {
	return r.openText(path, content, io.NopCloser(nil), 0)
}

// useAll makes all columns be read.
func (s *Stream) useAll() *Stream {
	s.Use(dense.Indices(len(s.Columns)), nil)
	return s
}

// stream returns the rows of a table of arrays.
func (t *Table) stream() *Stream {
	s := &Stream{Path: t.Path, Columns: t.Columns, Images: t.X != nil, Rows: int64(t.N()), source: &arrayRows{table: t}}
	return s.useAll()
}

// arrayRows is the source of a table in memory.
type arrayRows struct {
	table *Table // the whole table
	at    int    // number of the next row
}

func (a *arrayRows) next(b *batch, n int) error {
	t := a.table
	if a.at == t.N() {
		return io.EOF
	}
	rows := make([]int, min(n, t.N()-a.at))
	for i := range rows {
		rows[i] = a.at + i
		for _, u := range b.use {
			b.values = append(b.values, t.Values.Float64s()[rows[i]*len(t.Columns)+u.at])
		}
	}
	if t.X != nil {
		b.x = t.X
		if len(rows) < t.N() {
			b.x = TakeRows(t.X, rows)
		}
	}
	a.at, b.n = a.at+len(rows), len(rows)
	return nil
}

func (*arrayRows) close() {}
