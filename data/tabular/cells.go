package tabular

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
)

// A cellReader splits CSV text (RFC 4180) into rows of cells.
//
// It splits lines without quotes in place and allocates nothing for them. encoding/csv makes a
// string of each row, so that the heap grows to twice the size of the table, and is half as
// fast. From the first quote on encoding/csv reads the rest of the text.
type cellReader struct {
	b      *bufio.Reader
	line   int // the number of the first line of the row read last, counting from 1
	lines  int // the number of lines read so far
	long   []byte
	cells  [][]byte
	quotes *csv.Reader // nil before the first quote
	before int         // the number of lines before those that quotes reads
}

func newCellReader(r io.Reader) *cellReader {
	return &cellReader{b: bufio.NewReaderSize(r, 1<<16)}
}

// read returns the cells of the next row and skips empty lines. The cells are valid until the
// next call. After an error, line still is the line of the row before.
func (c *cellReader) read() ([][]byte, error) {
	for c.quotes == nil {
		line, err := c.next()
		if err != nil {
			return nil, err
		}
		if bytes.IndexByte(line, '"') >= 0 {
			c.before = c.lines - 1
			c.quotes = csv.NewReader(io.MultiReader(bytes.NewReader(bytes.Clone(line)), c.b))
			c.quotes.FieldsPerRecord = -1 // the caller counts
			c.quotes.ReuseRecord = true
			break
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if len(line) > 0 {
			c.line = c.lines
			return c.split(line), nil
		}
	}
	return c.quoted()
}

// next returns the next line with its end. The last line needs no end. If reading fails within
// a line, next returns the error and not the part of the line.
func (c *cellReader) next() ([]byte, error) {
	line, err := c.b.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		c.long = c.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
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

func (c *cellReader) split(line []byte) [][]byte {
	c.cells = c.cells[:0]
	for {
		cell, rest, more := bytes.Cut(line, []byte(","))
		c.cells = append(c.cells, cell)
		if !more {
			return c.cells
		}
		line = rest
	}
}

// quoted does the work of read from the first quote on.
func (c *cellReader) quoted() ([][]byte, error) {
	row, err := c.quotes.Read()
	if err != nil {
		var parse *csv.ParseError
		if errors.As(err, &parse) {
			parse.StartLine += c.before
			parse.Line += c.before
		}
		return nil, err
	}
	line, _ := c.quotes.FieldPos(0)
	c.line = c.before + line
	c.cells = c.cells[:0]
	for _, cell := range row {
		c.cells = append(c.cells, []byte(cell))
	}
	return c.cells, nil
}
