package tabular

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/go-valla/valla/data"
)

// batch is the number of rows that are read at a time.
const batch = 1024

// A reading is the state of reading the files of a set.
type reading struct {
	Set
	keep       bool      // says that x and y get the rows; otherwise they are only counted
	read, kept int       // the number of rows that were read, and the number of rows that were not dropped
	x, y       []float64 // [kept,D] and [kept], the features and the targets
	row        []float64 // [D+1], the features and the target of the current row
}

func (s Set) reading(keep bool) *reading {
	return &reading{Set: s, keep: keep, row: make([]float64, len(s.Features)+1)}
}

// read reads the files at paths. It returns an error if the number of rows is not the expected
// one.
func (s Set) read(paths []string) (*reading, error) {
	r := s.reading(true)
	for _, p := range paths {
		if r.left() == 0 {
			break
		}
		if err := r.file(p, isParquet(p)); err != nil {
			return nil, err
		}
	}
	return r, r.complete(strings.Join(paths, ", "))
}

// left returns how many more rows are read at a time.
func (r *reading) left() int {
	if r.most == 0 {
		return batch
	}
	return min(batch, r.most-r.read)
}

// file reads one file.
func (r *reading) file(path string, parquet bool) error {
	l, reader := r.text, data.TableReader{Header: "yes", Format: "csv", Times: true}
	if parquet {
		l, reader.Format = r.parquet, "parquet"
	}
	if l.bare {
		reader.Header = "no"
	}
	s, err := reader.Open(path)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := l.use(s); err != nil {
		return err
	}
	r.reserve(int(s.Rows))
	for first := 0; r.left() > 0; first += batch {
		t, err := s.Next(r.left())
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = r.add(l, t, first)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mostReserved bounds the number of rows for which memory is reserved, since a file may claim
// more rows than it has.
const mostReserved = 1 << 22

// reserve makes room for the rows of a file that has about n rows.
func (r *reading) reserve(n int) {
	if n = min(cmp.Or(max(r.rows, r.most), n), mostReserved); r.keep {
		r.x, r.y = slices.Grow(r.x, n*len(r.Features)), slices.Grow(r.y, n)
	}
}

// add computes rows from t and keeps the rows that the set does not drop. The first row of t has
// the number first in the file.
func (r *reading) add(l layout, t *data.Table, first int) error {
	cells, err := l.cells(t)
	if err != nil {
		return err
	}
	d := len(r.Features)
	for row := range slices.Chunk(cells, len(l.columns)) {
		if l.derive != nil {
			if err := l.derive(row, r.row); err != nil {
				return fmt.Errorf("%s: row %d (counting from 0), %w", t.Path, first, err)
			}
			row = r.row
		}
		first, r.read = first+1, r.read+1
		if r.drop != nil && r.drop(row) {
			continue
		}
		if r.kept++; r.keep {
			r.x, r.y = append(r.x, row[:d]...), append(r.y, row[d])
		}
	}
	return nil
}

// shuffle permutes the rows in place.
func (r *reading) shuffle() {
	d := len(r.Features)
	rand.New(rand.NewPCG(0, 0)).Shuffle(r.kept, func(i, j int) {
		a, b := r.x[i*d:(i+1)*d], r.x[j*d:(j+1)*d]
		for k := range a {
			a[k], b[k] = b[k], a[k]
		}
		r.y[i], r.y[j] = r.y[j], r.y[i]
	})
}

// complete returns an error unless the files at where have as many rows as expected, and some for
// each of the three parts.
func (r *reading) complete(where string) error {
	if r.rows > 0 && r.read != r.rows {
		return fmt.Errorf("%s: expected %d rows, found %d", where, r.rows, r.read)
	}
	train, validation := r.split(r.kept)
	if train < 1 || validation < 1 || train+validation >= r.kept {
		return fmt.Errorf("%s: expected rows for training, validation and testing (%d, %d and more), found %d and kept %d",
			where, max(train, 1), max(validation, 1), r.read, r.kept)
	}
	return nil
}
