package tabular

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A layout says what a kind of file holds and what makes a row of it.
type layout struct {
	fields []field
	// bare means a CSV file without a header, whose columns are the fields.
	bare bool
	// derive makes a row, features and then target, of a file's cells, one for each
	// field. nil: they are the row.
	derive func(cells, row []float64)
}

// A field is a column of a file that is needed. Other columns are passed over.
type field struct {
	name string
	// time: the Parquet column is a timestamp; its cells are microseconds since
	// 1970 in whatever zone the file is in.
	time bool
	// expected describes the cells that convert takes, for messages.
	expected string
	// convert returns what a finite cell stands for; false if it is not as expected.
	// nil: itself.
	convert func(float64) (float64, bool)
}

// numbers returns fields of any finite numbers.
func numbers(names ...string) []field {
	f := make([]field, len(names))
	for i, name := range names {
		f[i].name = name
	}
	return f
}

// value returns what a cell stands for, and otherwise what was expected.
func (f *field) value(cell float64) (v float64, expected string) {
	if math.IsNaN(cell) || math.IsInf(cell, 0) {
		return 0, "a finite number"
	}
	if f.convert == nil {
		return cell, ""
	}
	if v, ok := f.convert(cell); ok {
		return v, ""
	}
	return 0, f.expected
}

// errEnough ends a scan without an error when no more rows are wanted.
var errEnough = errors.New("enough rows")

// A take gets the cells of one row, one for each field, and must not keep them. An
// error ends the scan, which adds the place.
type take func(cells []float64) error

// quoted is a cell for a message: on one line, and not all of a long one.
func quoted(cell string) string {
	const most = 40
	if len(cell) > most {
		return strconv.Quote(cell[:most]) + "..."
	}
	return strconv.Quote(cell)
}

// listed joins names for a message, leaving out what is beyond 20.
func listed(names []string) string {
	const most = 20
	if len(names) == 0 {
		return "none"
	}
	short := make([]string, 0, most)
	for i, name := range names {
		if i == most {
			return fmt.Sprintf("%s and %d more", strings.Join(short, ", "), len(names)-most)
		}
		short = append(short, quoted(name))
	}
	return strings.Join(short, ", ")
}
