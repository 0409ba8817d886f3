package tabular

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/internal/fetch"
	"github.com/go-valla/valla/internal/dense"
)

// A Set describes a data set: its contents, where its files come from and how they are
// read. [Sets] lists all sets.
type Set struct {
	fetch.Dataset          // the names of the set, its files, their addresses and their checks
	Folder        string   // of its files, below the folder of all data sets
	Features      []string // D names
	Target        string   // the target's name

	files         []string                 // patterns (path.Match) of file names; the first that any file fits counts
	text, parquet layout                   // without columns if there are no files of the kind
	drop          func(row []float64) bool // says whether a row is left out; nil keeps all rows
	rows          int                      // the number of rows of the files; 0 means any number
	most          int                      // the number of rows that are used; 0 means all
	shuffled      bool                     // says that the rows are in a random order, always the same
	split         split                    // sizes of the parts
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

// Sets returns all sets, in the order of their names.
func Sets() []Set {
	all := []Set{airline(), nycFlights(), taxi(), taxiGreen(), year()}
	for i := range all {
		all[i].checked()
	}
	return all
}

// checked adds the checks of the files: a file of unknown size is read to the end, and other
// files of the set may replace the published files.
func (s *Set) checked() {
	reader := *s
	s.Or = reader.whole
	for i, f := range s.Files {
		if f.Size == 0 {
			s.Files[i].Check = func(path string) error { return reader.check(path, isParquet(f.Name)) }
		}
	}
}

// packed returns the name of a file and the names of its packed forms.
func packed(name string) []string { return []string{name, name + ".gz", name + ".bz2", name + ".zip"} }

// Open reads the set from its files in the folder dir. Where there are none, the error
// wraps [fs.ErrNotExist].
//
// The numbers are in the units of the files. X is [N,D] and Y is [N,1] in each part. The parts
// lie one after the other in one piece of memory.
func (s Set) Open(dir string) (train, validation, test *data.Set, err error) {
	paths, err := s.find(dir)
	if err != nil {
		return nil, nil, nil, err
	}
	return s.open(paths)
}

// open reads the set from the files at paths, in their order.
func (s Set) open(paths []string) (train, validation, test *data.Set, err error) {
	r, err := s.read(paths)
	if err != nil {
		return nil, nil, nil, err
	}
	if s.shuffled {
		r.shuffle()
	}
	x, y := dense.Of(r.x, r.kept, len(s.Features)), dense.Of(r.y, r.kept, 1)
	part := func(from, to int) *data.Set {
		return &data.Set{Features: s.Features, Targets: []string{s.Target}, X: dense.Rows(x, from, to), Y: dense.Rows(y, from, to)}
	}
	a, b := s.split(r.kept)
	return part(0, a), part(a, a+b), part(a+b, r.kept), nil
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

// check reads one file of the set to the end, whatever its name, and says what is wrong with it.
func (s Set) check(path string, parquet bool) error {
	r := s.reading(false)
	if err := r.file(path, parquet); err != nil {
		return err
	}
	return r.complete(path)
}

// whole reads the files of the set in the folder dir to the end and says what is wrong.
func (s Set) whole(dir string) error {
	paths, err := s.find(dir)
	if err == nil {
		_, err = s.read(paths)
	}
	return err
}
