package tabular

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// magic begins and ends a Parquet file.
const magic = "PAR1"

// A parquetFile is an open Parquet file with the columns that are needed.
type parquetFile struct {
	layout
	path    string
	file    *os.File
	table   *parquet.File
	columns []parquetColumn
}

// parquetRows returns the rows that a Parquet file with the columns of l says it
// has.
func parquetRows(path string, l layout) (n int64, err error) {
	defer damaged(path, &err)
	p, err := openParquet(path, l)
	if err != nil {
		return 0, err
	}
	defer p.file.Close()
	return max(0, p.table.NumRows()), nil
}

// scanParquet hands the rows of a Parquet file to take, decoding only the columns
// that l needs, a page of each at a time. It returns the size of the file.
func scanParquet(path string, l layout, take take) (size int64, err error) {
	defer damaged(path, &err)
	p, err := openParquet(path, l)
	if err != nil {
		return 0, err
	}
	defer p.file.Close()
	row := int64(0)
	for _, g := range p.table.RowGroups() {
		if err := p.group(g, row, take); err != nil {
			if errors.Is(err, errEnough) {
				return p.table.Size(), nil
			}
			return 0, err
		}
		row += g.NumRows()
	}
	if row <= 0 {
		return 0, fmt.Errorf("%s: expected rows of numbers, found none", path)
	}
	return p.table.Size(), nil
}

// damaged turns a panic of the Parquet decoder, which a damaged file can cause,
// into an error.
func damaged(path string, err *error) {
	if r := recover(); r != nil {
		*err = corrupt(path, fmt.Errorf("%v", r))
	}
}

// corrupt reports what the decoder says of a file.
func corrupt(path string, err error) error {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("%s: expected a Parquet file, found it damaged: %s", path, line)
}

func openParquet(path string, l layout) (*parquetFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	p := &parquetFile{layout: l, path: path, file: f}
	opened := false
	defer func() { // also when the decoder panics
		if !opened {
			f.Close()
		}
	}()
	size, err := checkEnds(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p.table, err = parquet.OpenFile(f, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(1<<18))
	if err != nil {
		return nil, corrupt(path, err)
	}
	if err := p.find(); err != nil {
		return nil, err
	}
	opened = true
	return p, nil
}

// checkEnds makes sure that f begins and ends as a Parquet file does, and returns
// its size.
func checkEnds(f *os.File) (size int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	b := bufio.NewReader(f)
	if kind := sniff(b); kind != "a Parquet file" {
		if kind == "" {
			start, _ := b.Peek(24)
			kind = "one that begins " + quoted(string(start))
		}
		return 0, fmt.Errorf("expected a Parquet file, found %s", kind)
	}
	size = info.Size()
	var tail [8]byte
	if size < int64(len(magic)+len(tail)) {
		return 0, fmt.Errorf("expected a Parquet file, found only %d bytes of one", size)
	}
	if _, err := f.ReadAt(tail[:], size-int64(len(tail))); err != nil {
		return 0, err
	}
	if end := string(tail[4:]); end != magic {
		return 0, fmt.Errorf("expected %q at the end of a Parquet file, found %q: it is cut off", magic, end)
	}
	if n := int64(binary.LittleEndian.Uint32(tail[:])); n > size-int64(len(magic)+len(tail)) {
		return 0, fmt.Errorf("expected a Parquet file, found it damaged: %d bytes of description in a file of %d", n, size)
	}
	return size, nil
}

// find locates the columns and checks their types.
func (p *parquetFile) find() error {
	for _, f := range p.fields {
		leaf, ok := p.table.Schema().Lookup(f.name)
		if !ok {
			var names []string
			for _, c := range p.table.Root().Columns() {
				names = append(names, c.Name())
			}
			return fmt.Errorf("%s: expected a column %q, found %s", p.path, f.name, listed(names))
		}
		c := parquetColumn{index: leaf.ColumnIndex, buf: make([]parquet.Value, batch)}
		expected := "numbers"
		if f.time {
			expected = "timestamps"
			c.convert = timeOf(leaf.Node.Type())
		} else {
			c.convert = numberOf(leaf.Node.Type())
		}
		if leaf.MaxRepetitionLevel > 0 {
			return fmt.Errorf("%s: column %q: expected %s, found lists", p.path, f.name, expected)
		}
		if c.convert == nil {
			return fmt.Errorf("%s: column %q: expected %s, found %v", p.path, f.name, expected, leaf.Node.Type())
		}
		p.columns = append(p.columns, c)
	}
	return nil
}
