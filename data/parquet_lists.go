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
// elements of an array in an archive are. The first list tells the length, unless there is a Padding.

// parquetLeaf is what a column of a stream has of a column of the file.
type parquetLeaf struct {
	at    int  // number of the column of the file
	list  bool // the column has lists
	width int  // elements of a list; 1 without lists
	place int  // of the element in its list

	pad   *Padding // of lists of different lengths; nil for others
	part  part     // what the column has of such lists
	least int      // the definition level from which on values are elements of such lists
}

// parquetChunk is an open column of the file.
type parquetChunk struct {
	*tablefile.Column
	parquetLeaf       // of its first column in use
	uses        []int // numbers of the used columns of the stream that it has

	next  [1]parquet.Value // the first value of the next list
	ahead bool             // says that next is decoded
}

// listEnds are how writers of Parquet call the levels of a list.
var listEnds = []string{".list.element", ".list.item", ".bag.array_element", ".list.array_element", ".array"}

// name returns the name of a column of the file, that of the lists if it has lists, and how deep lists are nested in it.
func (p *parquetRows) name(at int) (name string, depth int) {
	path := p.table.Schema().Columns()[at]
	if leaf, ok := p.table.Schema().Lookup(path...); ok {
		depth = leaf.MaxRepetitionLevel
	}
	name = strings.Join(path, ".")
	for _, end := range listEnds {
		if depth == 1 {
			name = strings.TrimSuffix(name, end)
		}
	}
	return name, depth
}

// columns adds the leaves of a column of the file, and returns the names of their columns in the stream.
func (p *parquetRows) columns(at int) (names []string) {
	name, _ := p.name(at)
	if p.filled(name) {
		return nil
	}
	if pad := p.padding(at); pad != nil {
		return p.padded(at, name, pad)
	}
	width := p.listWidth(at)
	if width == 0 {
		p.leaves = append(p.leaves, parquetLeaf{at: at, width: 1})
		return []string{strings.Join(p.table.Schema().Columns()[at], ".")}
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
	groups := p.table.RowGroups()
	if _, depth := p.name(at); depth != 1 || len(groups) == 0 || groups[0].NumRows() < 1 {
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
func (p *parquetRows) fill(name string, c *parquetChunk, n int) error {
	if c.pad != nil {
		return p.fillPadded(c, n)
	}
	err := c.Fill(p.buffer)
	if c.width > 1 && (err == nil || errors.Is(err, io.EOF)) { // the last list may be too short
		for i, v := range p.buffer {
			if begins := v.RepetitionLevel() == 0; begins != (i%c.width == 0) {
				return p.ragged(c, i)
			}
		}
	}
	if err != nil {
		err = fmt.Errorf("column %q, rows %d to %d: %w", name, p.row, p.row+n-1, err)
		return fmt.Errorf("%s: %w", p.path, tablefile.Corrupt(err))
	}
	if c.list && int64(n) == p.left {
		for i, v := range p.buffer {
			p.buffer[i] = v.Clone() // the next call of Fill ends the use of its memory
		}
		if more := make([]parquet.Value, 1); c.Fill(more) == nil {
			p.buffer = append(p.buffer, more...)
			return p.ragged(c, n*c.width)
		}
	}
	return nil
}

// ragged returns the error about a list of another length than the first one. Value number i of the buffer is the first
// that belongs to another list than expected.
func (p *parquetRows) ragged(c *parquetChunk, i int) error {
	row := (i - 1) / c.width
	found := fmt.Sprint(i - row*c.width)
	switch {
	case p.buffer[i].RepetitionLevel() > 0:
		found = fmt.Sprint("more than ", c.width)
	case i-row*c.width == 1 && p.buffer[i-1].IsNull():
		found = "none"
	}
	name, _ := p.name(c.at)
	return fmt.Errorf("%s: expected a list of %d elements, as in the first row, found %s: pad lists to one length", place(p.path, false, p.row+row, name), c.width, found)
}
