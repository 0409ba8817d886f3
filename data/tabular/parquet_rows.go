package tabular

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// batch is the number of rows of each column that are decoded at a time.
const batch = 1024

// A parquetColumn decodes one column.
type parquetColumn struct {
	index   int
	convert func(parquet.Value) (float64, bool) // returns false if float64 cannot hold the value
	pages   parquet.Pages
	page    parquet.Page
	values  parquet.ValueReader // of the current page; nil before the first one
	buf     []parquet.Value     // [batch]
}

// group calls take with the rows of a row group. Its first row has the number first in the
// file.
func (p *parquetFile) group(g parquet.RowGroup, first int64, take take) error {
	chunks := g.ColumnChunks()
	for i := range p.columns {
		c := &p.columns[i]
		c.pages = chunks[c.index].Pages()
		defer c.close()
	}
	cells := make([]float64, len(p.columns))
	for at := int64(0); at < g.NumRows(); at += batch {
		n := int(min(batch, g.NumRows()-at))
		for i := range p.columns {
			if err := p.columns[i].fill(n); err != nil {
				return corrupt(p.path, fmt.Errorf("column %q, rows %d to %d: %w", p.fields[i].name, first+at, first+at+int64(n)-1, err))
			}
		}
		for k := range n {
			if err := p.row(k, first+at+int64(k), cells, take); err != nil {
				return err
			}
		}
	}
	return nil
}

// row calls take with row k of the batch, which has the number row in the file.
func (p *parquetFile) row(k int, row int64, cells []float64, take take) error {
	for i := range p.fields {
		f, cell, expected := &p.fields[i], p.columns[i].buf[k], ""
		if cell.IsNull() {
			expected = "a value"
		} else if v, ok := p.columns[i].convert(cell); !ok {
			expected = fmt.Sprintf("a value of at most %d in size", int64(exact))
		} else {
			cells[i], expected = f.value(v)
		}
		if expected != "" {
			return fmt.Errorf("%s: row %d (counting from 0), column %q: expected %s, found %s", p.path, row, f.name, expected, quoted(cell.String()))
		}
	}
	if err := take(cells); err != nil {
		return fmt.Errorf("%s: row %d (counting from 0): %w", p.path, row, err)
	}
	return nil
}

// fill decodes the next n values, which may be in several pages.
func (c *parquetColumn) fill(n int) error {
	for have := 0; have < n; {
		if c.values == nil {
			if err := c.next(); err != nil {
				return fmt.Errorf("expected %d values, found %d: %w", n, have, err)
			}
		}
		got, err := c.values.ReadValues(c.buf[have:n])
		have += got
		if errors.Is(err, io.EOF) || got == 0 && err == nil {
			c.values = nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// next opens the next page.
func (c *parquetColumn) next() error {
	c.release()
	page, err := c.pages.ReadPage()
	if err != nil {
		return err
	}
	c.page, c.values = page, page.Values()
	return nil
}

func (c *parquetColumn) release() {
	if c.page != nil {
		parquet.Release(c.page)
	}
	c.page, c.values = nil, nil
}

func (c *parquetColumn) close() {
	c.release()
	_ = c.pages.Close() // it was read only
}
