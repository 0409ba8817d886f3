package data

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-valla/valla/internal/tablefile"
)

// lineRows is the source of a file of text.
type lineRows struct {
	path  string           // of the file, for messages
	file  io.Closer        // is closed with the stream
	text  *tablefile.Text  // the text, unpacked
	cells *tablefile.Cells // divides the lines into cells
	first []row            // rows that were read to find the header
	width int              // cells of a row
	named bool             // the first row names the columns
}

// row is a copy of a row and its line.
type row struct {
	cells []string // the text of each cell
	line  int      // number of the line, from 1
}

// openText opens the text in content, whose size is 0 if that is not known; file is closed at
// the end.
func (r TableReader) openText(path string, content io.Reader, file io.Closer, size int64) (*Stream, error) {
	t := &lineRows{path: path, file: file, text: new(tablefile.Text)}
	if err := t.text.Unpack(content); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b := bufio.NewReaderSize(t.text, 1<<16)
	start, err := b.Peek(1 << 16)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if bytes.HasPrefix(start, []byte("\xff\xfe")) || bytes.HasPrefix(start, []byte("\xfe\xff")) {
		return nil, fmt.Errorf("%s: expected text in UTF-8, found UTF-16: save the table as CSV in UTF-8", path)
	}
	if mark := []byte(tablefile.ByteOrderMark); bytes.HasPrefix(start, mark) {
		start = start[len(mark):]
		_, _ = b.Discard(len(mark)) // they were peeked
	}
	t.cells = tablefile.NewCells(b, separator(start))
	columns, err := t.header(r)
	if err != nil {
		return nil, err
	}
	s := &Stream{Path: path, Columns: columns, source: t, lines: true}
	if lines := bytes.Count(start, []byte{'\n'}); lines > 0 && !t.text.Packed() {
		s.Rows = size * int64(lines) / int64(len(start))
	}
	return s.useAll(), nil
}

// header reads the names of the columns, or makes them.
func (t *lineRows) header(r TableReader) ([]string, error) {
	for range 2 {
		cells, err := t.cells.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, t.syntax(err)
		}
		copied := row{line: t.cells.Line}
		for _, c := range cells {
			copied.cells = append(copied.cells, string(bytes.TrimSpace(c)))
		}
		t.first = append(t.first, copied)
	}
	if len(t.first) == 0 {
		return nil, fmt.Errorf("%s: no rows", t.path)
	}
	names := t.first[0].cells
	t.width = len(names)
	has, err := r.hasHeader(t.first)
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", t.path, t.first[0].line, err)
	}
	if !has {
		return numbered(t.width, "x"), nil
	}
	t.first, t.named = t.first[1:], true
	names = slices.Clone(names)
	for i, n := range names {
		if n == "" {
			names[i] = fmt.Sprintf("%s%d", unnamed, i)
		}
	}
	if err := checkNames(names); err != nil {
		return nil, fmt.Errorf("%s: %w", t.path, err)
	}
	return names, nil
}

func (t *lineRows) next(b *batch, n int) error {
	for b.n < n {
		cells, line, err := t.read()
		switch {
		case errors.Is(err, io.EOF) && b.n > 0:
			return nil
		case errors.Is(err, io.EOF):
			return err
		case err != nil:
			return t.syntax(err)
		}
		if err := t.row(b, cells, line); err != nil {
			return err
		}
	}
	return nil
}

// read returns the cells and the line of the next row, of the rows in first before others.
func (t *lineRows) read() (cells [][]byte, line int, err error) {
	if len(t.first) == 0 {
		cells, err = t.cells.Read()
		return cells, t.cells.Line, err
	}
	for _, c := range t.first[0].cells {
		cells = append(cells, []byte(c))
	}
	line, t.first = t.first[0].line, t.first[1:]
	return cells, line, nil
}

// row adds one row. A line of blanks is none.
func (t *lineRows) row(b *batch, cells [][]byte, line int) error {
	if len(cells) == 1 && t.width > 1 && len(bytes.TrimSpace(cells[0])) == 0 {
		return nil
	}
	if len(cells) != t.width {
		return fmt.Errorf("%s:%d: expected %d cells, found %d", t.path, line, t.width, len(cells))
	}
	for j := range b.use {
		b.cell(j, bytes.TrimSpace(cells[b.use[j].at]), line)
	}
	b.n++
	return b.room()
}

func (t *lineRows) close() {
	t.text.Close()
	_ = t.file.Close() // it was read only
}

// syntax adds the file, and the line if it is known, to an error of the reader of cells.
func (t *lineRows) syntax(err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("%s:%d: %w", t.path, parse.Line, parse.Err)
	}
	return fmt.Errorf("%s: after line %d: %w", t.path, t.cells.Line, err)
}

// separators are the characters that may separate cells, the likeliest first: a comma may
// stand within a cell of the others.
const separators = "\t;|,"

// separator returns the character that separates the cells of a text, by its first lines: of the
// characters in the first line, the character that most other lines have as often.
func separator(start []byte) byte {
	lines := outside(start)
	best, most := byte(','), 0
	for i := range len(separators) {
		c := separators[i : i+1]
		n, agree := 0, 0
		for k, line := range lines {
			if k == 0 {
				n = strings.Count(line, c)
			}
			if n > 0 && strings.Count(line, c) == n {
				agree++
			}
		}
		if agree > most {
			best, most = c[0], agree
		}
	}
	if most == 0 && blanks(start) {
		return ' '
	}
	return best
}

// blanks says whether the first lines of a text have numbers with blanks between them, as NumPy writes an array, after a first line that
// may have names.
func blanks(start []byte) bool {
	const most = 20
	end := bytes.LastIndexByte(start, '\n')
	width, lines := 0, 0
	for line := range bytes.Lines(start[:end+1]) {
		cells := bytes.Fields(line)
		if len(cells) == 0 {
			continue
		}
		if width = cmp.Or(width, len(cells)); len(cells) != width || width < 2 {
			return false
		}
		if lines++; lines > 1 && slices.ContainsFunc(cells, func(c []byte) bool { return kindOf(string(c)) == isWord }) {
			return false
		}
		if lines == most {
			break
		}
	}
	return lines > 1
}

// outside returns the separators of each of the first lines that are not empty, without what
// is between quotes.
func outside(start []byte) []string {
	const most = 20
	var lines []string
	var line strings.Builder
	quoted, any := false, false
	for _, c := range start {
		switch {
		case c == '"':
			quoted, any = !quoted, true
		case quoted:
		case c == '\n':
			if any {
				lines = append(lines, line.String())
			}
			line.Reset()
			if any = false; len(lines) == most {
				return lines
			}
		case strings.IndexByte(separators, c) >= 0:
			line.WriteByte(c)
			any = true
		case c != '\r':
			any = true
		}
	}
	if any && (len(lines) == 0 || len(start) < 1<<16-3) {
		lines = append(lines, line.String())
	}
	return lines
}
