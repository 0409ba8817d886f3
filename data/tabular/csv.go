package tabular

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// byteOrderMark is what some programs put before the first column's name.
const byteOrderMark = "\ufeff"

// A csvScan is a CSV file on its way.
type csvScan struct {
	layout
	path    string
	r       *csv.Reader
	columns int   // of the file; 0 before the first row
	line    int   // of the row read last, its first, counting from 1
	at      []int // of each field
	cells   []float64
}

// scanCSV hands the rows of a CSV file to take and returns how many bytes of text
// it read.
func scanCSV(path string, l layout, take take) (int64, error) {
	f, content, err := open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return decodeCSV(path, content, l, take)
}

// decodeCSV is scanCSV for the content of a file.
func decodeCSV(path string, content *io.SectionReader, l layout, take take) (int64, error) {
	t := new(text)
	defer t.Close()
	if err := t.unpack(content); err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	s := csvScan{layout: l, path: path, r: csv.NewReader(bufio.NewReaderSize(t, 1<<16)), cells: make([]float64, len(l.fields))}
	s.r.FieldsPerRecord = -1 // checked here, for the message
	s.r.ReuseRecord = true
	if err := s.scan(take); err != nil && !errors.Is(err, errEnough) {
		return t.bytes, err
	}
	return t.bytes, nil
}

func (s *csvScan) scan(take take) error {
	for rows := 0; ; {
		cells, err := s.r.Read()
		switch {
		case errors.Is(err, io.EOF) && rows == 0:
			return fmt.Errorf("%s: expected rows of numbers, found none", s.path)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return s.syntax(err)
		}
		s.line, _ = s.r.FieldPos(0)
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

// start finds the columns by the first row and says whether it is the header.
func (s *csvScan) start(cells []string) (header bool, err error) {
	cells[0] = strings.TrimPrefix(cells[0], byteOrderMark)
	if s.bare {
		for i := range s.fields {
			s.at = append(s.at, i)
		}
		s.columns = len(s.fields)
		return false, nil
	}
	names := make([]string, len(cells))
	for i, c := range cells {
		names[i] = strings.TrimSpace(c)
	}
	for _, f := range s.fields {
		at := slices.Index(names, f.name)
		if at < 0 {
			return true, fmt.Errorf("%s:%d: expected a column %q, found %s", s.path, s.line, f.name, listed(names))
		}
		if slices.Contains(names[at+1:], f.name) {
			return true, fmt.Errorf("%s:%d: expected one column %q, found two", s.path, s.line, f.name)
		}
		s.at = append(s.at, at)
	}
	s.columns = len(names)
	return true, nil
}

// row takes one row.
func (s *csvScan) row(cells []string, take take) error {
	if len(cells) != s.columns {
		return fmt.Errorf("%s:%d: expected %d cells, found %d", s.path, s.line, s.columns, len(cells))
	}
	for i := range s.fields {
		f, expected := &s.fields[i], ""
		v, err := strconv.ParseFloat(strings.TrimSpace(cells[s.at[i]]), 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			expected = "a number"
		} else {
			s.cells[i], expected = f.value(v)
		}
		if expected != "" {
			return fmt.Errorf("%s:%d: column %q (number %d): expected %s, found %s",
				s.path, s.line, f.name, s.at[i]+1, expected, quoted(cells[s.at[i]]))
		}
	}
	if err := take(s.cells); err != nil {
		return fmt.Errorf("%s:%d: %w", s.path, s.line, err)
	}
	return nil
}

// syntax rewrites an error of the CSV reader, which may be one of reading, in our
// form. Where reading fails, the place is the row that was read last.
func (s *csvScan) syntax(err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("%s:%d: expected comma-separated cells, found a %w", s.path, parse.Line, parse.Err)
	}
	return fmt.Errorf("%s: after line %d: %w", s.path, s.line, err)
}
