package tabular

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-valla/valla/internal/tablefile"
	"github.com/parquet-go/parquet-go"
)

// A parquetFile is an open Parquet file and its columns that are needed.
type parquetFile struct {
	layout
	path    string          // of the file, for messages
	table   *parquet.File   // the description of the file
	columns []parquetColumn // one for each field
}

// parquetRows returns the number of rows that a Parquet file with the columns of l claims to
// have, and its size in bytes.
func parquetRows(path string, l layout) (n, size int64, err error) {
	defer tablefile.Damaged(path, &err)
	f, content, err := tablefile.Open(path)
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
	f, content, err := tablefile.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return content.Size(), decodeParquet(path, content, l, take)
}

// decodeParquet is scanParquet for the content of a file.
func decodeParquet(path string, content *io.SectionReader, l layout, take take) (err error) {
	defer tablefile.Damaged(path, &err)
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

func newParquet(path string, content *io.SectionReader, l layout) (*parquetFile, error) {
	table, err := tablefile.OpenParquet(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p := &parquetFile{layout: l, path: path, table: table}
	return p, p.find()
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
			return fmt.Errorf("%s: expected a column %q, found %s", p.path, f.name, tablefile.Listed(names))
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
