package tabular

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// magic begins and ends a Parquet file.
const magic = "PAR1"

// A parquetFile is an open Parquet file and its columns that are needed.
type parquetFile struct {
	layout
	path    string
	table   *parquet.File
	columns []parquetColumn
}

// parquetRows returns the number of rows that a Parquet file with the columns of l claims to
// have, and its size in bytes.
func parquetRows(path string, l layout) (n, size int64, err error) {
	defer damaged(path, &err)
	f, content, err := open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	p, err := newParquet(path, content, l)
	if err != nil {
		return 0, 0, err
	}
	return max(0, p.table.NumRows()), content.Size(), nil
}

// scanParquet calls take with the rows of a Parquet file. It decodes only the columns that l
// needs, one page of each at a time. It returns the size of the file in bytes.
func scanParquet(path string, l layout, take take) (int64, error) {
	f, content, err := open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return content.Size(), decodeParquet(path, content, l, take)
}

// decodeParquet is scanParquet for the content of a file.
func decodeParquet(path string, content *io.SectionReader, l layout, take take) (err error) {
	defer damaged(path, &err)
	p, err := newParquet(path, content, l)
	if err != nil {
		return err
	}
	row := int64(0)
	for _, g := range p.table.RowGroups() {
		if err := p.group(g, row, take); err != nil {
			if errors.Is(err, errEnough) {
				return nil
			}
			return err
		}
		row += g.NumRows()
	}
	if row <= 0 {
		return fmt.Errorf("%s: expected rows of numbers, found none", path)
	}
	return nil
}

// damaged turns a panic of the Parquet decoder into an error. A damaged file can cause one.
func damaged(path string, err *error) {
	if r := recover(); r != nil {
		*err = corrupt(path, fmt.Errorf("%v", r))
	}
}

// corrupt returns the error about a file that the Parquet decoder refuses.
func corrupt(path string, err error) error {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("%s: expected a Parquet file, found it damaged: %s", path, line)
}

func newParquet(path string, content *io.SectionReader, l layout) (*parquetFile, error) {
	if err := checkEnds(content); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	table, err := parquet.OpenFile(content, content.Size(),
		parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(1<<18))
	if err != nil {
		return nil, corrupt(path, err)
	}
	p := &parquetFile{layout: l, path: path, table: table}
	return p, p.find()
}

// checkEnds makes sure that f begins and ends as a Parquet file does.
func checkEnds(f *io.SectionReader) error {
	b := bufio.NewReader(f)
	kind, err := sniff(b)
	if err != nil {
		return err
	}
	if kind != "a Parquet file" {
		if kind == "" {
			start, _ := b.Peek(24)
			kind = "one that begins " + quoted(string(start))
		}
		return fmt.Errorf("expected a Parquet file, found %s", kind)
	}
	var tail [8]byte
	rest := f.Size() - int64(len(magic)+len(tail))
	if rest < 0 {
		return fmt.Errorf("expected a Parquet file, found only %d bytes of one", f.Size())
	}
	if _, err := f.ReadAt(tail[:], f.Size()-int64(len(tail))); err != nil {
		return err
	}
	if end := string(tail[4:]); end != magic {
		return fmt.Errorf("expected %q at the end of a Parquet file, found %q: it is cut off", magic, end)
	}
	if n := int64(binary.LittleEndian.Uint32(tail[:])); n > rest {
		return fmt.Errorf("expected a Parquet file, found it damaged: %d bytes of description in a file of %d", n, f.Size())
	}
	return nil
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
