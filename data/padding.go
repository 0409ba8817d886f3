package data

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/tablefile"
)

// A Padding says how lists of different lengths in a column of a Parquet file become lists of one length: Value stands at
// the places after the end of a list. A missing list is a list without elements. Other files have the columns that a
// padding makes, such as arrays that are padded already, and are read as they are.
type Padding struct {
	Column string  `json:"column,omitempty"`  // column of the lists; "" stands for all columns of lists
	Length int     `json:"length"`            // of the padded lists, the most elements that a list may have
	Value  float64 `json:"value,omitempty"`   // at the places after the end of a list
	Mask   string  `json:"mask,omitempty"`    // name of lists [Length] of 1 at the elements and 0 after them; "" for none
	Count  string  `json:"lengths,omitempty"` // name of a column of the numbers of elements; "" for none
}

// CheckPaddings returns an error if a padding is impossible, or if two paddings make the same column.
func CheckPaddings(all []Padding) error {
	var names []string
	for _, p := range all {
		switch {
		case p.Length < 1 || p.Length > mostElements:
			return fmt.Errorf("lists of %q padded to %d elements, expected 1 to %d", p.Column, p.Length, mostElements)
		case !kernel.Finite(p.Value):
			return fmt.Errorf("lists of %q padded with %g, expected a finite number", p.Column, p.Value)
		case p.Column == "" && (p.Mask+p.Count != "" || len(all) > 1):
			return fmt.Errorf("the padding of all columns of lists beside a mask, lengths or another padding, expected the name of a column")
		}
		for _, name := range []string{p.Column, p.Mask, p.Count} {
			if name != "" && slices.Contains(names, name) {
				return fmt.Errorf("two paddings with the column %q, expected one", name)
			}
			names = append(names, name)
		}
	}
	return nil
}

// String says in a phrase what the padding does.
func (p Padding) String() string {
	text := fmt.Sprintf("lists of %s: up to %d elements, then %g", cmp.Or(p.Column, "any column"), p.Length, p.Value)
	if p.Mask != "" {
		text += fmt.Sprintf("; %s is 1 at the elements", p.Mask)
	}
	if p.Count != "" {
		text += fmt.Sprintf("; %s is their number", p.Count)
	}
	return text
}

// part is what of a padded list a column of a stream has.
type part int

// The parts of a padded list.
const (
	element part = iota // the element of a place
	mask                // 1 if the list has an element at the place, otherwise 0
	count               // the number of elements
)

// padding returns the padding of the lists in a column of the file, nil for none.
func (p *parquetRows) padding(at int) *Padding {
	name, depth := p.name(at)
	i := slices.IndexFunc(p.paddings, func(p Padding) bool { return p.Column == name || p.Column == "" })
	if i < 0 || depth != 1 {
		return nil
	}
	return &p.paddings[i]
}

// filled reports whether a column of the file is not read, because the lists of another column fill it.
func (p *parquetRows) filled(name string) bool {
	if p.paddings == nil {
		return false // files may have many columns
	}
	for at := range p.table.Schema().Columns() {
		if pad := p.padding(at); pad != nil && (pad.Mask == name || pad.Count == name) {
			return true
		}
	}
	return false
}

// padded adds the leaves of a column of lists that are padded, and returns the names of their columns in the stream.
func (p *parquetRows) padded(at int, name string, pad *Padding) (names []string) {
	leaf := parquetLeaf{at: at, list: true, width: pad.Length, pad: pad, least: elementLevel(p.table.Schema(), p.table.Schema().Columns()[at])}
	add := func(of part, prefix string, n int) {
		for leaf.place = range n {
			leaf.part = of
			p.leaves, names = append(p.leaves, leaf), append(names, fmt.Sprint(prefix, ".", leaf.place))
		}
	}
	add(element, name, pad.Length)
	if pad.Mask != "" {
		add(mask, pad.Mask, pad.Length)
	}
	if pad.Count != "" {
		add(count, pad.Count, 1)
		names[len(names)-1] = pad.Count
	}
	return names
}

// elementLevel returns the definition level from which on a value of a column is an element of a list, and no sign of an
// empty or missing list.
func elementLevel(node parquet.Node, path []string) (least int) {
	level := 0
	for _, name := range path {
		fields := node.Fields()
		node = fields[slices.IndexFunc(fields, func(f parquet.Field) bool { return f.Name() == name })]
		if !node.Required() {
			level++
		}
		if node.Repeated() {
			least = level
		}
	}
	return least
}

// fillPadded decodes the lists of n rows of a chunk, and counts their elements.
func (p *parquetRows) fillPadded(c *parquetChunk, n int) error {
	name, _ := p.name(c.at)
	p.counts = p.counts[:0]
	for i := range n {
		found, err := c.readList(p.buffer[i*c.width : (i+1)*c.width])
		if err != nil {
			err = fmt.Errorf("column %q, row %d: %w", name, p.row+i, err)
			return fmt.Errorf("%s: %w", p.path, tablefile.Corrupt(err))
		}
		if found > c.width {
			return fmt.Errorf("%s: expected a list of at most %d elements, found %d", place(p.path, false, p.row+i, name), c.width, found)
		}
		p.counts = append(p.counts, found)
	}
	return nil
}

// readList decodes the list of the next row into out, and returns the number of its elements, which may be more than out has.
func (c *parquetChunk) readList(out []parquet.Value) (found int, err error) {
	for begun := false; ; begun = true {
		if !c.ahead {
			if err := c.Fill(c.next[:]); begun && errors.Is(err, io.EOF) {
				return found, nil
			} else if err != nil {
				return 0, err
			}
		}
		v := c.next[0]
		if c.ahead = begun && v.RepetitionLevel() == 0; c.ahead {
			return found, nil
		}
		if v.DefinitionLevel() < c.least {
			continue
		}
		if found < len(out) {
			out[found] = v.Clone()
		}
		found++
	}
}

// number returns the number that a padding puts in a column of row i of those decoded, and whether it puts one there.
func (p *parquetRows) number(leaf *parquetLeaf, i int) (v float64, ok bool) {
	switch {
	case leaf.pad == nil:
		return 0, false
	case leaf.part == count:
		return float64(p.counts[i]), true
	case leaf.part == mask && leaf.place < p.counts[i]:
		return 1, true
	case leaf.part == mask:
		return 0, true
	}
	return leaf.pad.Value, leaf.place >= p.counts[i]
}
