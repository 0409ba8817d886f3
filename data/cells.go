package data

import (
	"bytes"
	"fmt"
	"math"

	"github.com/go-valla/valla/internal/dense"
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
	k, n := len(columns), columns[0].N()
	t := &Table{Path: path, rows: n}
	values, words := make([]float64, n*k), make([]*Words, k)
	for j, c := range columns {
		if c.N() != n {
			return nil, fmt.Errorf("%s: column %q has %d rows, expected %d as column %q", path, c.Name, c.N(), n, columns[0].Name)
		}
		t.Columns = append(t.Columns, c.Name)
		for i := range n {
			text, v, ok := c.cell(i)
			if !ok {
				if t.Words = words; words[j] == nil {
					words[j] = new(Words)
				}
				words[j].add(i, text, i)
			}
			values[i*k+j] = v
		}
		if words[j] != nil {
			words[j].fill(n)
		}
	}
	t.Values = dense.Of(values, n, k)
	return t, unique(t.Columns)
}

// cell returns the number of row i, or its text and false.
func (c Cells) cell(i int) (text []byte, v float64, ok bool) {
	if c.Texts == nil {
		if v = c.Numbers[i]; kernel.Finite(v) {
			return nil, v, true
		}
		return []byte(key(v)), math.NaN(), false
	}
	text = bytes.TrimSpace([]byte(c.Texts[i]))
	if v, ok = parse(text); !ok {
		v = math.NaN()
	}
	return text, v, ok
}
