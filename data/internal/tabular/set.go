package tabular

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/internal/fetch"
)

// A Set describes a data set: its contents, where its files come from and how they are
// read. [Sets] lists all sets.
type Set struct {
	Name     string        // the short one, as commands take it
	Title    string        // the full one
	Folder   string        // of its files, below the folder of all data sets
	Features []string      // D names
	Target   string        // the target's name
	Download fetch.Dataset // its files, their addresses and their checks

	files        []string // patterns (path.Match) of file names; the first that any file fits counts
	csv, parquet layout   // without fields if there are no files of the kind
	filters      []filter // in the order in which they are applied
	rows         int      // the number of rows of the files; 0 means any number
	most         int      // the number of rows that are used; 0 means all
	shuffled     bool     // says that Options.Seed shuffles the rows
	split        split    // sizes of the parts
}

// A filter drops rows.
type filter struct {
	name string                   // of the filter, for the report
	drop func(row []float64) bool // for a row of the features and then the target
}

// A split returns how many of n rows are for training and for validation. The
// others are for testing.
type split func(n int) (train, validation int)

// counts returns the split with given numbers of rows.
func counts(train, validation int) split {
	return func(int) (int, int) { return train, validation }
}

// shares returns the split with given fractions of all rows, rounded down.
func shares(train, validation float64) split {
	return func(n int) (int, int) { return int(float64(n) * train), int(float64(n) * validation) }
}

// Options say how a set is read. The zero value of each field means its default.
type Options struct {
	Dtype tensor.Dtype // of the tensors: tensor.Float64, the default, or tensor.Float32
	Seed  uint64       // sets the order of the rows, for the sets that are shuffled
}

// Open reads the set from its files in the folder dir. Where there are none, the error
// wraps [fs.ErrNotExist].
//
// The numbers are in the units of the files; [splits.standardize] scales them as the
// paper's code does. X is [N,D] and Y is [N,1] in each part. The parts lie one after the
// other in one piece of memory. In float32 each value is the file's, rounded.
func (s Set) Open(dir string, o Options) (*splits, *Report, error) {
	paths, err := s.find(dir)
	if err != nil {
		return nil, nil, err
	}
	return s.open(paths, o)
}

// open reads the set from the files at paths, in their order.
func (s Set) open(paths []string, o Options) (*splits, *Report, error) {
	hint, err := s.expect(paths)
	if err != nil {
		return nil, nil, err
	}
	rows, err := newRows(o.Dtype, len(s.Features), hint)
	if err != nil {
		return nil, nil, err
	}
	report, err := s.read(paths, rows.add)
	if err != nil {
		return nil, nil, err
	}
	if s.shuffled {
		rows.shuffle(rand.New(rand.NewPCG(o.Seed, 0)))
	}
	x, y := rows.tensors()
	train, validation := s.split(report.Kept)
	splits, err := newSplits(&data.Set{Features: s.Features, Targets: []string{s.Target}, X: x, Y: y}, train, validation)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	return splits, report, nil
}

// find returns the files of the set in dir, in the order of their names.
func (s Set) find(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, pattern := range s.files {
		var found []string
		for _, e := range entries {
			if ok, _ := path.Match(pattern, e.Name()); ok && !e.IsDir() {
				found = append(found, filepath.Join(dir, e.Name()))
			}
		}
		if len(found) > 0 {
			return found, nil
		}
	}
	return nil, fmt.Errorf("no file %s: %w", filepath.Join(dir, strings.Join(s.files, " or ")), fs.ErrNotExist)
}

func isParquet(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".parquet") }

// expect returns for how many rows memory is to be reserved, and 0 if that is not known. If a
// file claims more rows than it has bytes, the number of its bytes counts.
func (s Set) expect(paths []string) (int, error) {
	if n := max(s.rows, s.most); n > 0 {
		return n, nil
	}
	total := int64(0)
	for _, p := range paths {
		if !isParquet(p) {
			continue
		}
		n, size, err := parquetRows(p, s.parquet)
		if err != nil {
			return 0, err
		}
		total += min(n, size)
	}
	return int(total), nil
}

// read calls add with each row that no filter drops; add must not keep the row. It returns an
// error if the number of rows is not the expected one.
func (s Set) read(paths []string, add func(row []float64) error) (*Report, error) {
	r := &reading{Set: s, report: newReport(s, paths), add: add, row: make([]float64, len(s.Features)+1)}
	start := time.Now()
	for _, p := range paths {
		if r.full() {
			break
		}
		if err := r.file(p, isParquet(p)); err != nil {
			return nil, err
		}
	}
	r.report.Elapsed = time.Since(start)
	return r.report, r.complete()
}

// check returns a function that reads one file of the set to the end, whatever its
// name, and says what is wrong with it.
func (s Set) check(parquet bool) func(path string) error {
	return func(path string) error {
		r := &reading{Set: s, report: newReport(s, []string{path}), row: make([]float64, len(s.Features)+1)}
		r.add = func([]float64) error { return nil }
		if err := r.file(path, parquet); err != nil {
			return err
		}
		return r.complete()
	}
}

// whole reads the files of the set in the folder dir to the end and says what is wrong.
func (s Set) whole(dir string) error {
	paths, err := s.find(dir)
	if err != nil {
		return err
	}
	_, err = s.read(paths, func([]float64) error { return nil })
	return err
}

// A reading is the state of read.
type reading struct {
	Set
	report *Report                   // what was read so far
	add    func(row []float64) error // takes the rows that are kept
	row    []float64                 // [D+1], the features and the target of the current row
}

// full says whether no more rows are needed.
func (r *reading) full() bool { return r.most > 0 && r.report.Rows >= r.most }

// file reads one file.
func (r *reading) file(path string, parquet bool) error {
	scan, l := scanCSV, r.csv
	if parquet {
		scan, l = scanParquet, r.parquet
	}
	n, err := scan(path, l, func(cells []float64) error { return r.take(l, cells) })
	r.report.Bytes += n
	return err
}

// take makes a row of cells, filters it and adds it.
func (r *reading) take(l layout, cells []float64) error {
	r.report.Rows++
	row := cells
	if l.derive != nil {
		row = r.row
		l.derive(cells, row)
	}
	for i, f := range r.filters {
		if f.drop(row) {
			r.report.Dropped[i].Rows++
			return r.enough()
		}
	}
	r.report.Kept++
	if err := r.add(row); err != nil {
		return err
	}
	return r.enough()
}

func (r *reading) enough() error {
	if r.full() {
		return errEnough
	}
	return nil
}

// complete returns an error unless there are as many rows as expected, and some for each of
// the three parts.
func (r *reading) complete() error {
	where := strings.Join(r.report.Files, ", ")
	if r.rows > 0 && r.report.Rows != r.rows {
		return fmt.Errorf("%s: expected %d rows, found %d", where, r.rows, r.report.Rows)
	}
	train, validation := r.split(r.report.Kept)
	if train < 1 || validation < 1 || train+validation >= r.report.Kept {
		return fmt.Errorf("%s: expected rows for training, validation and testing (%d, %d and more), found %d and kept %d",
			where, max(train, 1), max(validation, 1), r.report.Rows, r.report.Kept)
	}
	return nil
}
