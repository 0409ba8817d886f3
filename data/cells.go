package data

import (
	"bytes"
	"fmt"

	"github.com/go-valla/valla/internal/kernel"
)

// Cells are the cells of one column of a table in memory.
type Cells struct {
	Name    string    // of the column
	Numbers []float64 // NaN is a missing value
	Texts   []string  // instead of Numbers, if not nil: as a file of text has them
}

// N returns the number of rows.
func (c Cells) N() int {
	if c.Texts != nil {
		return len(c.Texts)
	}
	return len(c.Numbers)
}

// TableOf returns the table that [TableReader.Read] returns of a file with these columns, of
// which there are one or more. Path stands for the file in messages.
func TableOf(path string, columns []Cells) (*Table, error) {
	n := columns[0].N()
	s := &Stream{Path: path}
	for j, c := range columns {
		if c.N() != n {
			return nil, fmt.Errorf("%s: column %q has %d rows, expected %d as column %q", path, c.Name, c.N(), n, columns[0].Name)
		}
		s.Columns, s.use = append(s.Columns, c.Name), append(s.use, used{name: c.Name, at: j})
	}
	b := &batch{Stream: s, words: make([]*Words, len(columns)), values: make([]float64, 0, n*len(columns))}
	for ; b.n < n; b.n++ {
		for j, c := range columns {
			c.add(b, j)
		}
	}
	s.read = n
	if err := checkNames(s.Columns); err != nil {
		return nil, err
	}
	return b.table()
}

// add adds the cell of the next row to column j of b.
func (c Cells) add(b *batch, j int) {
	switch {
	case c.Texts != nil:
		b.cell(j, bytes.TrimSpace([]byte(c.Texts[b.n])), b.n)
	case kernel.Finite(c.Numbers[b.n]):
		b.values = append(b.values, c.Numbers[b.n])
	default:
		b.word(j, []byte(key(c.Numbers[b.n])), b.n)
	}
}
