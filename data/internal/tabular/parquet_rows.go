package tabular

import (
	"fmt"

	"github.com/go-valla/valla/internal/tablefile"
	"github.com/parquet-go/parquet-go"
)

// batch is the number of rows of each column that are decoded at a time.
const batch = 1024

// A parquetColumn decodes one column.
type parquetColumn struct {
	index   int                                 // number of the column in the file
	convert func(parquet.Value) (float64, bool) // returns false if float64 cannot hold the value
	buf     []parquet.Value                     // [batch]
}

// group calls take with the rows of a row group. Its first row has the number first in the
// file.
func (p *parquetFile) group(g parquet.RowGroup, first int64, take take) error {
	chunks := g.ColumnChunks()
	columns := make([]*tablefile.Column, len(p.columns))
	for i, c := range p.columns {
		columns[i] = tablefile.NewColumn(chunks[c.index])
		defer columns[i].Close()
	}
	cells := make([]float64, len(p.columns))
	for at := int64(0); at < g.NumRows(); at += batch {
		n := int(min(batch, g.NumRows()-at))
		for i := range p.columns {
			if err := columns[i].Fill(p.columns[i].buf[:n]); err != nil {
				err = fmt.Errorf("column %q, rows %d to %d: %w", p.fields[i].name, first+at, first+at+int64(n)-1, err)
				return fmt.Errorf("%s: %w", p.path, tablefile.Corrupt(err))
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
			expected = fmt.Sprintf("a value of at most %d in size", int64(tablefile.Exact))
		} else {
			cells[i], expected = f.value(v)
		}
		if expected != "" {
			return fmt.Errorf("%s: row %d (counting from 0), column %q: expected %s, found %s", p.path, row, f.name, expected, tablefile.Quoted(cell.String()))
		}
	}
	if err := take(cells); err != nil {
		return fmt.Errorf("%s: row %d (counting from 0): %w", p.path, row, err)
	}
	return nil
}
