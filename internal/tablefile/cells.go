package tablefile

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxLine is the largest number of bytes of a line. Without it, a file that is no table could fill the
// memory.
const maxLine = 64 << 20

// maxCells is the largest number of cells of a row, and maxCell the largest number of bytes of a cell. A packed file of few
// bytes may hold more, each of which takes memory many times.
const (
	maxCells = 1 << 20
	maxCell  = 1 << 20
)

// maxEmpty is the largest number of empty lines between two rows. A packed file of few bytes may hold
// gigabytes of them.
const maxEmpty = 1 << 20

// Cells splits text of separated values (RFC 4180) into rows of cells.
//
// Cells splits lines without quotes in place, without allocations. encoding/csv makes a string of
// each row. It is half as fast, and its heap grows to twice the size of the table. It reads only the lines
// with quotes.
type Cells struct {
	Line  int           // the number of the first line of the row read last, counting from 1
	Lines bool          // every row is one line: a quoted cell that goes on in the next line is an error
	b     *bufio.Reader // the text
	comma byte          // separates the cells
	lines int           // the number of lines read so far
	long  []byte        // a line that is longer than the buffer of b
	cells [][]byte      // cells of the row read last

	csv  *csv.Reader   // of rows with quotes; nil before the first
	in   *bufio.Reader // what csv reads from, with the contents of rest
	rest *bytes.Reader // the row that csv reads
	row  []byte        // with quotes
	text []byte        // of its cells
	fed  int           // the number of lines that csv has read
}

// NewCells returns a reader of the cells in r, which the character comma separates; a blank stands for any number of them.
func NewCells(r io.Reader, comma byte) *Cells {
	return &Cells{b: bufio.NewReaderSize(r, 1<<16), comma: comma}
}

// Comma returns the character that separates the cells.
func (c *Cells) Comma() byte { return c.comma }

// Read returns the cells of the next row and skips empty lines. The cells are valid until the
// next call. After an error, Line is still the line of the row before.
func (c *Cells) Read() ([][]byte, error) {
	for range maxEmpty {
		line, err := c.next()
		if err != nil {
			return nil, err
		}
		if bytes.IndexByte(line, '"') >= 0 {
			return c.quoted(line)
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if len(line) > 0 {
			c.Line = c.lines
			return c.split(line)
		}
	}
	return nil, fmt.Errorf("more than %d empty lines, expected a table of text", maxEmpty)
}

// next returns the next line with its end. The last line needs no end. If reading fails within
// a line, next returns the error and not the part of the line.
func (c *Cells) next() ([]byte, error) {
	line, err := c.b.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		c.long = c.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(c.long) > maxLine {
				return nil, fmt.Errorf("line %d has more than %d bytes, expected a table of text", c.lines+1, maxLine)
			}
			c.long = append(c.long, line...)
			line, err = c.b.ReadSlice('\n')
		}
		c.long = append(c.long, line...)
		line = c.long
	}
	if err != nil && !(errors.Is(err, io.EOF) && len(line) > 0) {
		return nil, err
	}
	c.lines++
	return line, nil
}

// split returns the cells of a line without quotes.
func (c *Cells) split(line []byte) ([][]byte, error) {
	if err := c.bounded(line); err != nil {
		return nil, err
	}
	c.cells = c.cells[:0]
	if c.comma == ' ' {
		c.cells = slices.AppendSeq(c.cells, bytes.FieldsSeq(line))
		return c.cells, nil
	}
	for {
		at := bytes.IndexByte(line, c.comma)
		if at < 0 {
			c.cells = append(c.cells, line)
			return c.cells, nil
		}
		c.cells = append(c.cells, line[:at])
		line = line[at+1:]
	}
}

// bounded returns an error for a row with too many cells or with a cell that is too large.
func (c *Cells) bounded(row []byte) error {
	if len(row) < min(maxCells, maxCell) {
		return nil
	}
	if bytes.Count(row, []byte{c.comma}) >= maxCells {
		return fmt.Errorf("line %d has more than %d cells, expected a table of text", c.lines, maxCells)
	}
	for cell := range bytes.SplitSeq(row, []byte{c.comma}) {
		if len(cell) > maxCell {
			return fmt.Errorf("line %d has a cell of more than %d bytes, expected a table of text", c.lines, maxCell)
		}
	}
	return nil
}

// quoted splits a row whose first line has a quote. A quoted cell may hold ends of lines.
func (c *Cells) quoted(line []byte) ([][]byte, error) {
	first := c.lines
	if c.Lines && odd(line) {
		return nil, fmt.Errorf("line %d: a quoted cell with a line break in it: such a file cannot be read in parts", first)
	}
	c.row = append(c.row[:0], line...)
	for open := odd(line); open; {
		more, err := c.next()
		if errors.Is(err, io.EOF) {
			break // encoding/csv says what is wrong
		}
		if err != nil {
			return nil, err
		}
		if len(c.row) > maxLine {
			return nil, fmt.Errorf("line %d: a quoted cell of more than %d bytes, expected its end", first, maxLine)
		}
		c.row, open = append(c.row, more...), open != odd(more)
	}
	if err := c.bounded(c.row); err != nil {
		return nil, err
	}
	cells, err := c.parse(first)
	if err != nil {
		return nil, err
	}
	c.Line = first
	c.cells, c.text = c.cells[:0], c.text[:0]
	for _, cell := range cells {
		c.text = append(c.text, cell...)
	}
	at := 0
	for _, cell := range cells {
		c.cells = append(c.cells, c.text[at:at+len(cell):at+len(cell)])
		at += len(cell)
	}
	return c.cells, nil
}

// odd reports whether a line has an odd number of quotes. A cell then goes on in the next line, or a
// cell of the line before ends in this line.
func odd(line []byte) bool { return bytes.Count(line, []byte{'"'})%2 == 1 }

// parse splits the row in c.row, whose first line has the given number.
func (c *Cells) parse(first int) ([]string, error) {
	if c.csv == nil {
		c.rest, c.in = bytes.NewReader(nil), bufio.NewReader(nil)
		c.csv = csv.NewReader(c.in)
		c.csv.Comma, c.csv.FieldsPerRecord, c.csv.ReuseRecord = rune(c.comma), -1, true // the caller counts the cells
		c.csv.TrimLeadingSpace = c.comma != '\t'                                        // which is such a space
	}
	c.rest.Reset(c.row)
	c.in.Reset(c.rest)
	before := first - 1 - c.fed
	c.fed += c.lines - first + 1
	cells, err := c.csv.Read()
	if parse := (*csv.ParseError)(nil); errors.As(err, &parse) {
		parse.StartLine += before
		parse.Line += before
	}
	return cells, err
}
