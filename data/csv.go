package data

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// byteOrderMark is a character that some programs write before the first column's name.
const byteOrderMark = "\ufeff"

// readCSV reads the table at path, decompressed where its name ends in .gz.
func readCSV(path string) (*Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !strings.HasSuffix(strings.ToLower(path), ".gz") {
		return decodeCSV(f, path)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer z.Close()
	return decodeCSV(z, path)
}

// decodeCSV reads a table from r; errors start with name.
func decodeCSV(r io.Reader, name string) (*Table, error) {
	d := csvDecoder{name: name, r: csv.NewReader(r)}
	d.r.FieldsPerRecord = -1 // checked here, for the message
	d.r.ReuseRecord = true
	for {
		cells, err := d.r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, d.syntax(err)
		}
		if err := d.row(cells); err != nil {
			return nil, err
		}
	}
	if len(d.values) == 0 {
		return nil, fmt.Errorf("%s: no rows of numbers", name)
	}
	return newTable(name, d.columns, d.values, len(d.values)/len(d.columns))
}

// A csvDecoder gathers the rows of a table.
type csvDecoder struct {
	name    string
	r       *csv.Reader
	columns []string // nil before the first row
	values  []float64
}

// row adds one row of the file: the header, or numbers.
func (d *csvDecoder) row(cells []string) error {
	if d.columns == nil {
		cells[0] = strings.TrimPrefix(cells[0], byteOrderMark)
		if !slices.ContainsFunc(cells, notNumber) {
			d.columns = numbered(len(cells), "x")
		} else {
			for _, c := range cells {
				d.columns = append(d.columns, strings.TrimSpace(c))
			}
			return nil
		}
	}
	if len(cells) != len(d.columns) {
		return fmt.Errorf("%s:%d: expected %d cells, found %d", d.name, d.line(), len(d.columns), len(cells))
	}
	for i, c := range cells {
		v, err := strconv.ParseFloat(strings.TrimSpace(c), 64)
		if err != nil || !finite(v) {
			return d.cell(i, c)
		}
		d.values = append(d.values, v)
	}
	return nil
}

// line returns the number of the current row's first line, counting from 1.
func (d *csvDecoder) line() int {
	line, _ := d.r.FieldPos(0)
	return line
}

// cell returns the error about the cell c of column i, which is not a finite number.
func (d *csvDecoder) cell(i int, c string) error {
	expected := "a number"
	if !notNumber(c) {
		expected = "a finite number"
	}
	return fmt.Errorf("%s:%d: column %q (number %d): expected %s, found %q",
		d.name, d.line(), d.columns[i], i+1, expected, c)
}

// syntax adds the file, and the line if it is known, to an error of the CSV reader.
func (d *csvDecoder) syntax(err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("%s:%d: %w", d.name, parse.Line, parse.Err)
	}
	return fmt.Errorf("%s: %w", d.name, err)
}

// notNumber says whether a cell is no number. A number that float64 cannot hold counts as a
// number.
func notNumber(cell string) bool {
	_, err := strconv.ParseFloat(strings.TrimSpace(cell), 64)
	return err != nil && !errors.Is(err, strconv.ErrRange)
}
