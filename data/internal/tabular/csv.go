package tabular

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/go-valla/valla/internal/tablefile"
)

// A csvScan is the state of reading a CSV file.
type csvScan struct {
	layout
	path string // of the file, for messages
	*tablefile.Cells
	columns int       // the number of columns of the file; 0 before the first row
	at      []int     // the column of each field
	values  []float64 // one for each field: the cells of a row as numbers
}

// scanCSV calls take with the rows of a CSV file and returns how many bytes of text it read.
func scanCSV(path string, l layout, take take) (int64, error) {
	f, content, err := tablefile.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return decodeCSV(path, content, l, take)
}

// decodeCSV is scanCSV for the content of a file.
func decodeCSV(path string, content *io.SectionReader, l layout, take take) (int64, error) {
	t := new(tablefile.Text)
	defer t.Close()
	if err := t.Unpack(content); err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	s := csvScan{layout: l, path: path, Cells: tablefile.NewCells(t, ','), values: make([]float64, len(l.fields))}
	if err := s.scan(take); err != nil && !errors.Is(err, errEnough) {
		return t.Bytes, err
	}
	return t.Bytes, nil
}

func (s *csvScan) scan(take take) error {
	for rows := 0; ; {
		cells, err := s.Read()
		switch {
		case errors.Is(err, io.EOF) && rows == 0:
			return fmt.Errorf("%s: expected rows of numbers, found none", s.path)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return s.syntax(err)
		}
		if s.columns == 0 {
			header, err := s.start(cells)
			if err != nil {
				return err
			}
			if header {
				continue
			}
		}
		if err := s.row(cells, take); err != nil {
			return err
		}
		rows++
	}
}

// start finds the columns by means of the first row and says whether that row is the header.
func (s *csvScan) start(cells [][]byte) (header bool, err error) {
	cells[0] = bytes.TrimPrefix(cells[0], []byte(tablefile.ByteOrderMark))
	if s.bare {
		for i := range s.fields {
			s.at = append(s.at, i)
		}
		s.columns = len(s.fields)
		return false, nil
	}
	names := make([]string, len(cells))
	for i, c := range cells {
		names[i] = string(bytes.TrimSpace(c))
	}
	for _, f := range s.fields {
		at := slices.Index(names, f.name)
		if at < 0 {
			return true, fmt.Errorf("%s:%d: expected a column %q, found %s", s.path, s.Line, f.name, tablefile.Listed(names))
		}
		if slices.Contains(names[at+1:], f.name) {
			return true, fmt.Errorf("%s:%d: expected one column %q, found two", s.path, s.Line, f.name)
		}
		s.at = append(s.at, at)
	}
	s.columns = len(names)
	return true, nil
}

// row converts the cells of one row and calls take with them.
func (s *csvScan) row(cells [][]byte, take take) error {
	if len(cells) != s.columns {
		return fmt.Errorf("%s:%d: expected %d cells, found %d", s.path, s.Line, s.columns, len(cells))
	}
	for i := range s.fields {
		f, expected := &s.fields[i], ""
		v, err := strconv.ParseFloat(string(bytes.TrimSpace(cells[s.at[i]])), 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			expected = "a number"
		} else {
			s.values[i], expected = f.value(v)
		}
		if expected != "" {
			return fmt.Errorf("%s:%d: column %q (number %d): expected %s, found %s",
				s.path, s.Line, f.name, s.at[i]+1, expected, tablefile.Quoted(string(cells[s.at[i]])))
		}
	}
	if err := take(s.values); err != nil {
		return fmt.Errorf("%s:%d: %w", s.path, s.Line, err)
	}
	return nil
}

// syntax adds the file and the line to an error of the CSV reader. If reading the file failed,
// the line is the line of the last row.
func (s *csvScan) syntax(err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("%s:%d: expected comma-separated cells, found a %w", s.path, parse.Line, parse.Err)
	}
	return fmt.Errorf("%s: after line %d: %w", s.path, s.Line, err)
}
