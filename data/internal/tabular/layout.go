package tabular

import (
	"errors"
	"math"
)

// A layout describes the content of a kind of file, and how its cells become a row.
type layout struct {
	fields []field // the columns that are needed
	// bare means a CSV file without a header, whose columns are the fields.
	bare bool
	// derive computes a row, which is the features and then the target, from cells, one for
	// each field. If it is nil the cells are the row.
	derive func(cells, row []float64)
}

// A field is a column of a file that is needed. Other columns are ignored.
type field struct {
	name string // of the column in the file
	// time means that the Parquet column is a timestamp. Its cells are microseconds since
	// 1970, in the time zone of the file.
	time bool
	// expected describes the cells that convert takes, for messages.
	expected string
	// convert returns the value for which a finite cell stands, and false if the cell is not
	// as expected. If convert is nil the value is the cell.
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

// value returns the value for which a cell stands. If the cell has none, expected says what
// was expected; otherwise expected is empty.
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

// A take is called with the cells of one row, one for each field, and must not keep them. Its
// error ends the scan, which adds the place.
type take func(cells []float64) error
