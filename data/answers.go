package data

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/tablefile"
)

// targetColumns returns the numbers of the columns with the names of targets.
func (t *Table) targetColumns(names []string) ([]int, error) {
	var at []int
	for _, name := range names {
		i, err := t.Column(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(at, i) {
			return nil, fmt.Errorf("%s: the target %q is named twice", t.Path, name)
		}
		at = append(at, i)
	}
	return at, nil
}

// answers returns the targets [N,len(at)]. Where one column of classes has text, Y holds the
// places of the texts in labels.
func (t *Table) answers(at []int, classes bool) (y *tensor.Dense, labels []string, err error) {
	if !classes || len(at) != 1 || t.wordsOf(at[0]) == nil {
		y, err = t.Numbers(at)
		if err != nil && !classes {
			err = fmt.Errorf("%w; %s", err, t.noTarget(at))
		}
		return y, nil, err
	}
	labels = slices.Sorted(maps.Keys(t.keys(at[0])))
	y, err = t.Labels(at[0], labels)
	return y, labels, err
}

// noTarget says what to do where cells of targets are no numbers.
func (t *Table) noTarget(at []int) string {
	for _, j := range at {
		w := t.wordsOf(j)
		if _, ok := t.profile(j).most(disguised); ok {
			return "write the target as " + plainly
		}
		if w != nil && slices.ContainsFunc(w.List, func(w Word) bool { return !missing(w.Text) && !infinite(w.Text) }) {
			return "the target holds text: the setting classes makes it classes"
		}
	}
	return "a row without its target cannot be learned from: leave it out"
}

// infinite reports whether a text is a number that is not finite.
func infinite(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// Labels returns the place [N,1] of each text of column j among labels, or of each image's folder. Another
// text or folder, and a missing one, is an error. Arrays beside images hold the places already.
func (t *Table) Labels(j int, labels []string) (*tensor.Dense, error) {
	switch {
	case t.Folders != nil:
		return t.folderPlaces(j, labels)
	case t.X != nil:
		return t.Numbers([]int{j})
	}
	w, values, k := t.wordsOf(j), t.Values.Float64s(), len(t.Columns)
	of, at := []float64{0}, placesOf(labels)
	if w != nil {
		for _, word := range w.List {
			place, ok := at.of(word.Text)
			switch lacking := missing(word.Text); {
			case lacking && word.Text != "":
				return nil, fmt.Errorf("%w, which counts as a missing value: give the class another name, or leave such rows out with the setting missing", t.cell(j, word, oneOf(labels)))
			case lacking || !ok:
				return nil, t.cell(j, word, oneOf(labels))
			}
			of = append(of, float64(place))
		}
	}
	out := make([]float64, t.N())
	for i := range out {
		if w != nil && w.Codes[i] > 0 {
			out[i] = of[w.Codes[i]]
			continue
		}
		place, ok := at.number(values[i*k+j])
		if !ok {
			return nil, fmt.Errorf("%s: column %q: expected %s, found %s", t.Path, t.Columns[j], oneOf(labels), tablefile.Number(values[i*k+j]))
		}
		out[i] = float64(place)
	}
	return dense.Of(out, len(out), 1), nil
}

// oneOf lists labels in a message.
func oneOf(labels []string) string {
	return fmt.Sprintf("one of the %d classes %s", len(labels), tablefile.Listed(labels))
}

// ErrIncomplete is wrapped where every row lacks a value.
var ErrIncomplete = errors.New("no row has all values")

// Complete returns a table without the rows that lack a value, and how many those are. The columns with the numbers at are
// the encoding's columns, in their order. A table of which no row is left is an error that wraps [ErrIncomplete].
func (e *Encoding) Complete(t *Table, at, targets []int) (*Table, int, error) {
	gap := make([]bool, t.N())
	for k, j := range slices.Concat(at, targets) {
		c := ColumnCode{}
		if k < len(at) {
			c = e.Columns[k]
		}
		if w := t.wordsOf(j); w != nil {
			for i, code := range w.Codes {
				gap[i] = gap[i] || code > 0 && c.lacks(w.List[code-1].Text)
			}
		}
	}
	var rows []int
	for i, g := range gap {
		if !g {
			rows = append(rows, i)
		}
	}
	switch left := t.N() - len(rows); {
	case left == 0:
		return t, 0, nil
	case len(rows) == 0:
		return nil, left, fmt.Errorf("%s: %w", t.Path, ErrIncomplete)
	default:
		return t.take(rows), left, nil
	}
}

// take returns the rows with the given numbers of a table of columns.
func (t *Table) take(rows []int) *Table {
	out := &Table{Path: t.Path, Columns: t.Columns, Values: TakeRows(t.Values, rows), Notes: slices.Clone(t.Notes), Paddings: t.Paddings, text: t.text}
	if out.first = t.first; t.first >= 0 {
		for _, row := range rows {
			out.Origins = append(out.Origins, t.origin(row))
		}
	}
	for _, w := range t.Words {
		taken := (*Words)(nil)
		if w != nil {
			codes := make([]int32, len(rows))
			Gather(codes, w.Codes, 1, rows)
			taken = needed(codes, w.List)
		}
		out.Words = append(out.Words, taken)
	}
	return out
}

// needed returns words with the part of list that codes refer to, or nil if codes refer to no word.
func needed(codes []int32, list []Word) *Words {
	w, code := &Words{}, make([]int32, len(list)+1)
	for _, c := range codes {
		if c > 0 && code[c] == 0 {
			code[c] = w.learn(list[c-1])
		}
		w.Codes = append(w.Codes, code[c])
	}
	if len(w.List) == 0 {
		return nil
	}
	return w
}

// Summary returns a line for each column that does not hold plain numbers.
func (e *Encoding) Summary() []string {
	var lines []string
	for _, c := range e.Columns {
		if text := c.summary(); text != "" {
			lines = append(lines, strconv.Quote(c.Name)+" "+text)
		}
	}
	for _, name := range e.ID {
		lines = append(lines, strconv.Quote(name)+" names the rows, and is no input")
	}
	for _, o := range e.Omitted {
		lines = append(lines, fmt.Sprintf("%q is left out: %s", o.Name, o.Why))
	}
	if e.LeftOut > 0 {
		lines = append(lines, fmt.Sprintf("%d rows without a value are left out", e.LeftOut))
	}
	return lines
}

func (c ColumnCode) summary() string {
	text, median := "", fmt.Sprintf("the median %g", c.Median)
	switch c.Kind {
	case Number:
		if c.Lenient {
			text = "holds numbers, cells of text count as missing"
		} else if c.Gaps {
			text = "holds numbers"
		}
	case Boolean:
		text = fmt.Sprintf("is 0 for %s and 1 for %s", c.Values[0], c.Values[1])
	case Date:
		text = fmt.Sprintf("holds dates or times written as %s, counted in days", c.Layout)
	case Categories:
		text, median = fmt.Sprintf("has %d categories, an input each and one for others", len(c.Values)), ""
	case Codes:
		text = fmt.Sprintf("has %d categories, numbered by falling frequency", len(c.Values))
	}
	switch {
	case !c.Gaps:
	case median == "":
		text += "; missing values have an input, too"
	default:
		text += fmt.Sprintf("; missing values become %s, and an input says so", median)
	}
	return text
}

// Texts returns the cells of column j as text.
func (t *Table) Texts(j int) []string {
	out, w, k := make([]string, t.N()), t.wordsOf(j), len(t.Columns)
	for i := range out {
		if w != nil && w.Codes[i] > 0 {
			out[i] = w.List[w.Codes[i]-1].Text
		} else {
			out[i] = tablefile.Number(t.Values.Float64s()[i*k+j])
		}
	}
	return out
}
