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
// Lines without quotes are split where they lie, without garbage: encoding/csv makes
// a string of each row, so many that the collector lets the heap grow to twice the
// table, and is half as fast. The first quote hands what follows over to it.
type cellReader struct {
	b      *bufio.Reader
	line   int // of the row read last, its first, counting from 1
	lines  int // read so far
	long   []byte
	cells  [][]byte
	quotes *csv.Reader // nil before the first quote
	before int         // lines that quotes does not know of
}

func newCellReader(r io.Reader) *cellReader {
	return &cellReader{b: bufio.NewReaderSize(r, 1<<16)}
}

// read returns the cells of the next row that is no empty line. They are valid until
// the next call. After an error, line is that of the row before.
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

// next returns the next line with its end. An error of reading comes before what is
// left of a line; the last line needs no end.
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

// quoted is read after the first quote.
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
