package data

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/go-valla/valla/internal/tablefile"
)

// A column of lists of one length L is L columns of a table: the elements of ids are ids.0, ids.1 and so on, as the
// elements of an array in an archive are. The first list tells the length.

// parquetLeaf is what a column of a stream has of a column of the file.
type parquetLeaf struct {
	at    int  // number of the column of the file
	list  bool // the column has lists
	width int  // elements of a list; 1 without lists
	place int  // of the element in its list
}

// parquetChunk is an open column of the file.
type parquetChunk struct {
	*tablefile.Column
	parquetLeaf       // of its first column in use
	uses        []int // numbers of the used columns of the stream that it has
}

// listEnds are how writers of Parquet call the levels of a list.
var listEnds = []string{".list.element", ".list.item", ".bag.array_element", ".list.array_element", ".array"}

// columns adds the leaves of a column of the file, and returns the names of their columns in the stream.
func (p *parquetRows) columns(at int) (names []string) {
	path := p.table.Schema().Columns()[at]
	name, width := strings.Join(path, "."), p.listWidth(at)
	if width == 0 {
		p.leaves = append(p.leaves, parquetLeaf{at: at, width: 1})
		return []string{name}
	}
	for _, end := range listEnds {
		name = strings.TrimSuffix(name, end)
	}
	for place := range width {
		p.leaves = append(p.leaves, parquetLeaf{at: at, list: true, width: width, place: place})
		names = append(names, fmt.Sprintf("%s.%d", name, place))
	}
	return names
}

// mostElements is the largest length of a list.
const mostElements = 1 << 20

// listWidth returns the length of the first list of a column of the file; 0 for a column that has no lists, or whose first
// list cannot be read.
func (p *parquetRows) listWidth(at int) (width int) {
	leaf, ok := p.table.Schema().Lookup(p.table.Schema().Columns()[at]...)
	groups := p.table.RowGroups()
	if !ok || leaf.MaxRepetitionLevel != 1 || len(groups) == 0 || groups[0].NumRows() < 1 {
		return 0
	}
	defer func() {
		if recover() != nil { // a damaged file: reading it says so
			width = 0
		}
	}()
	column := tablefile.NewColumn(groups[0].ColumnChunks()[at])
	defer column.Close()
	var value [1]parquet.Value
	for width < mostElements && column.Fill(value[:]) == nil && (width == 0 || value[0].RepetitionLevel() > 0) {
		if value[0].DefinitionLevel() == 0 {
			return 0 // no list
		}
		width++
	}
	return width
}

// fill decodes the values of n rows of a chunk, whose first column in use has a name. The last rows of a group end the chunk.
func (p *parquetRows) fill(name string, c parquetChunk, n int) error {
	err := c.Fill(p.buffer)
	if c.width > 1 && (err == nil || errors.Is(err, io.EOF)) { // the last list may be too short
		for i, v := range p.buffer {
			if begins := v.RepetitionLevel() == 0; begins != (i%c.width == 0) {
				return p.ragged(name, c.width, i)
			}
		}
	}
	if err != nil {
		err = fmt.Errorf("column %q, rows %d to %d: %w", name, p.row, p.row+n-1, err)
		return fmt.Errorf("%s: %w", p.path, tablefile.Corrupt(err))
	}
	if c.list && int64(n) == p.left {
		if more := make([]parquet.Value, 1); c.Fill(more) == nil {
			p.buffer = append(p.buffer, more...)
			return p.ragged(name, c.width, n*c.width)
		}
	}
	return nil
}

// ragged returns the error about a list of another length than the first one. Value number i of the buffer, of lists of
// width elements, is the first that belongs to another list than expected.
func (p *parquetRows) ragged(name string, width, i int) error {
	row := (i - 1) / width
	found := fmt.Sprint(i - row*width)
	switch {
	case p.buffer[i].RepetitionLevel() > 0:
		found = fmt.Sprint("more than ", width)
	case i-row*width == 1 && p.buffer[i-1].IsNull():
		found = "none"
	}
	name = name[:strings.LastIndexByte(name, '.')]
	return fmt.Errorf("%s: expected a list of %d elements, as in the first row, found %s: pad lists to one length", place(p.path, false, p.row+row, name), width, found)
}
