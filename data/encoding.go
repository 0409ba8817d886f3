package data

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/tablefile"
)

// Kind says how the cells of a column become numbers.
type Kind string

// The kinds of columns.
const (
	Number     Kind = "number"
	Boolean    Kind = "boolean"    // two words; the second is 1
	Date       Kind = "date"       // days since 1970, or the part of the day for a time alone
	Categories Kind = "categories" // an input for each category, and one for all others
	Codes      Kind = "codes"      // the rank by frequency; others come after the last
)

// What happens where a value is missing.
const (
	MissingMedian = "median" // the training rows' median stands for it, and an indicator says so
	MissingError  = "error"  // it is refused
	MissingDrop   = "drop"   // its row is left out, and refused where predictions are made
)

// An Encoding turns the cells of a table, as people have them, into the inputs of a network.
// [Table.Encode] finds it by the rows that a network is trained on; targets play no part.
type Encoding struct {
	Columns []ColumnCode `json:"columns"`            // the columns that are read, in the order of the inputs
	Missing string       `json:"missing"`            // MissingMedian, MissingError or MissingDrop
	ID      []string     `json:"id,omitempty"`       // columns that only name the rows
	Omitted []Omission   `json:"omitted,omitempty"`  // other columns that are no inputs
	LeftOut int          `json:"left_out,omitempty"` // rows without a value, with MissingDrop
}

// A ColumnCode turns one column into inputs.
type ColumnCode struct {
	Name string `json:"name"` // of the column
	Kind Kind   `json:"kind"` // how cells become numbers
	// Gaps says that training rows lack the value: one more input is 1 where it is missing.
	Gaps   bool     `json:"gaps,omitempty"`
	Median float64  `json:"median,omitempty"` // of the training rows' numbers; stands for a missing one
	Layout string   `json:"layout,omitempty"` // of dates, as in package time
	Values []string `json:"values,omitempty"` // the categories, the codes in their order, or the two words
	// Lenient says that cells which are no numbers count as missing.
	Lenient bool `json:"lenient,omitempty"`
}

// twoDigits finds the month and the day of a layout that are read with one digit or two.
var twoDigits = regexp.MustCompile(`\b[12]\b`)

// Usual returns a cell such as the column has: the median of numbers and dates, or the first
// of the words.
func (c ColumnCode) Usual() string {
	switch {
	case c.Kind == Date:
		return c.date(c.Median)
	case len(c.Values) > 0:
		return c.Values[0]
	}
	return tablefile.Number(c.Median)
}

// An Omission is a column that is no input, and why.
type Omission struct {
	Name string `json:"name"` // of the column
	Why  string `json:"why"`  // why it is left out, as a clause
}

// Names returns the columns that the encoding reads.
func (e *Encoding) Names() []string {
	names := make([]string, len(e.Columns))
	for i, c := range e.Columns {
		names[i] = c.Name
	}
	return names
}

// Features names the inputs, D in all.
func (e *Encoding) Features() []string {
	var names []string
	for _, c := range e.Columns {
		if c.Kind != Categories {
			names = append(names, c.Name)
		} else {
			for _, v := range c.Values {
				names = append(names, c.Name+"="+v)
			}
			names = append(names, c.Name+" other")
		}
		if c.Gaps {
			names = append(names, c.Name+" missing")
		}
	}
	return names
}

// ColumnOf returns the column from which an input of the name feature comes, as far as [Encoding.Features] names it.
func ColumnOf(feature string) string {
	column, _, _ := strings.Cut(feature, "=")
	return strings.TrimSuffix(strings.TrimSuffix(column, " other"), " missing")
}

// Text returns the text of a value of the input called feature: a date as the column writes it, a number with four digits.
func (e *Encoding) Text(feature string, v float64) string {
	for _, c := range e.Columns {
		if c.Kind == Date && c.Name == feature {
			return c.date(v)
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// Cells returns the columns of a row of inputs [D] as text, in the order of [Encoding.Names].
// Numbers have six digits, and words that the training rows lack are "other".
func (e *Encoding) Cells(inputs []float64) []string {
	cells := make([]string, len(e.Columns))
	for i, c := range e.Columns {
		width := 1
		if c.Kind == Categories {
			width = len(c.Values) + 1
		}
		cells[i] = c.cell(inputs[:width])
		if inputs = inputs[width:]; c.Gaps {
			if inputs[0] == 1 {
				cells[i] = "missing"
			}
			inputs = inputs[1:]
		}
	}
	return cells
}

// cell returns the text that inputs stand for.
func (c *ColumnCode) cell(inputs []float64) string {
	k := int(inputs[0])
	switch c.Kind {
	case Number:
		return strconv.FormatFloat(inputs[0], 'g', 6, 64)
	case Date:
		return c.date(inputs[0])
	case Categories:
		k = slices.Index(inputs, 1)
	}
	if k < 0 || k >= len(c.Values) {
		return "other"
	}
	return c.Values[k]
}

// date returns a day as the column writes it.
func (c *ColumnCode) date(days float64) string {
	return time.Unix(int64(math.Round(days*86400)), 0).UTC().Format(twoDigits.ReplaceAllString(c.Layout, "0$0"))
}

// Plain says whether every column that is read holds numbers and no gap.
func (e *Encoding) Plain() bool {
	return !slices.ContainsFunc(e.Columns, func(c ColumnCode) bool { return !c.Plain() })
}

// Plain says whether the column holds numbers and no gap.
func (c ColumnCode) Plain() bool { return c.Kind == Number && !c.Gaps && !c.Lenient }

// Check returns what is wrong with an encoding, which may come from a file.
func (e *Encoding) Check() error {
	if !slices.Contains([]string{MissingMedian, MissingError, MissingDrop}, e.Missing) {
		return fmt.Errorf("encoding: missing values %q, expected median, error or drop", e.Missing)
	}
	if err := checkNames(e.Names()); err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	for _, c := range e.Columns {
		wrong := ""
		switch {
		case !slices.Contains([]Kind{Number, Boolean, Date, Categories, Codes}, c.Kind):
			wrong = fmt.Sprintf("kind %q", c.Kind)
		case !kernel.Finite(c.Median):
			wrong = fmt.Sprintf("median %g", c.Median)
		case c.Kind == Boolean && len(c.Values) != 2:
			wrong = fmt.Sprintf("%d words, expected 2", len(c.Values))
		case c.Kind == Date && !slices.Contains(dateLayouts, c.Layout):
			wrong = fmt.Sprintf("layout %q of dates", c.Layout)
		case checkNames(c.Values) != nil:
			wrong = checkNames(c.Values).Error()
		}
		if wrong != "" {
			return fmt.Errorf("encoding: column %q: %s", c.Name, wrong)
		}
	}
	return nil
}

// Apply returns the inputs [N,D] of a table whose columns with the numbers at are the encoding's
// columns, in their order. lacking, which may be nil, counts the missing values of the columns
// that training rows did not lack; the median stands for them.
func (e *Encoding) Apply(t *Table, at []int, lacking map[string]int) (*tensor.Dense, error) {
	n, d := t.N(), len(e.Features())
	out := make([]float64, n*d)
	k := 0
	for i := range e.Columns {
		c := &e.Columns[i]
		gaps, width := 0, 1
		var err error
		if c.Kind == Categories {
			width = len(c.Values) + 1
			gaps = c.oneHot(t, at[i], out[k:], d)
		} else {
			gaps, err = c.scalar(t, at[i], out[k:], d)
		}
		if err == nil && gaps > 0 && e.Missing != MissingMedian {
			err = c.missing(t, at[i])
		}
		if err != nil {
			return nil, err
		}
		if gaps > 0 && !c.Gaps && lacking != nil {
			lacking[c.Name] += gaps
		}
		if k += width; c.Gaps {
			k++
		}
	}
	return dense.Of(out, n, d), nil
}

// lacks says whether a cell with a word lacks a value. A number that is written otherwise is none that is missing.
func (c *ColumnCode) lacks(word string) bool {
	if !c.Lenient {
		return missing(word)
	}
	_, number := parse([]byte(word))
	return !number && !disguised(word)
}

// missing is the error about a value that column j lacks.
func (c *ColumnCode) missing(t *Table, j int) error {
	for _, w := range t.wordsOf(j).List {
		switch {
		case missing(w.Text):
			return t.cell(j, w, "a value")
		case c.lacks(w.Text):
			return t.cell(j, w, "a number")
		}
	}
	return fmt.Errorf("%s: column %q lacks values", t.Path, t.Columns[j])
}

// scalar writes the numbers of column j to every d-th element of out, and the indicator after
// each, and returns how many are missing.
func (c *ColumnCode) scalar(t *Table, j int, out []float64, d int) (gaps int, err error) {
	words := t.wordsOf(j)
	meaning, number, err := c.meanings(t, j)
	if err != nil {
		return 0, err
	}
	values, k := t.Values.Float64s(), len(t.Columns)
	for i := range t.N() {
		v, code := values[i*k+j], int32(0)
		if words != nil {
			code = words.Codes[i]
		}
		if code > 0 {
			v = meaning[code-1]
		} else if v, err = number(v); err != nil {
			return 0, fmt.Errorf("%s: %w", t.place(i, j), err)
		}
		if v != v {
			gaps++
			v = c.Median
			if c.Gaps {
				out[i*d+1] = 1
			}
		}
		out[i*d] = v
	}
	return gaps, nil
}

// place names row i of column j in a message.
func (t *Table) place(i, j int) string {
	if t.first < 0 {
		return fmt.Sprintf("%s: column %q", t.Path, t.Columns[j])
	}
	return place(t.Path, false, t.origin(i), t.Columns[j])
}

// origin returns the number of row i in the file.
func (t *Table) origin(i int) int {
	if t.Origins != nil {
		return t.Origins[i]
	}
	return t.first + i
}

// meanings returns the number for which each word of column j stands, NaN for a missing one,
// and the function that does this for a number.
func (c *ColumnCode) meanings(t *Table, j int) (of []float64, number func(float64) (float64, error), err error) {
	word, expected := c.reader()
	if w := t.wordsOf(j); w != nil {
		for _, w := range w.List {
			v, ok := math.NaN(), missing(w.Text)
			if !ok {
				v, ok = word(w.Text)
			}
			switch {
			case !ok && c.Kind == Number:
				return nil, nil, t.noNumber(j, w)
			case !ok:
				return nil, nil, t.cell(j, w, expected)
			}
			of = append(of, v)
		}
	}
	if c.Kind == Number {
		return of, func(v float64) (float64, error) { return v, nil }, nil
	}
	return of, func(v float64) (float64, error) {
		if got, ok := word(key(v)); ok {
			return got, nil
		}
		return 0, fmt.Errorf("expected %s, found the number %s", expected, tablefile.Number(v))
	}, nil
}

// reader returns the function that turns a word into a number, and the words that the function
// expects, for messages.
func (c *ColumnCode) reader() (word func(string) (float64, bool), expected string) {
	switch c.Kind {
	case Boolean:
		return func(s string) (float64, bool) {
			i := slices.IndexFunc(c.Values, func(v string) bool { return strings.EqualFold(v, s) })
			if i < 0 && (s == "0" || s == "1") {
				i = int(s[0] - '0')
			}
			return float64(i), i >= 0
		}, fmt.Sprintf("%q or %q", c.Values[0], c.Values[1])
	case Date:
		return func(s string) (float64, bool) { return dateIn(c.Layout, s) }, "a date or time as in the training rows"
	case Codes:
		codes := placesOf(c.Values)
		return func(s string) (float64, bool) {
			if i, ok := codes.of(s); ok {
				return float64(i), true
			}
			return float64(len(c.Values)), true
		}, ""
	}
	return func(s string) (float64, bool) {
		if v, ok := parse([]byte(s)); ok {
			return v, true
		}
		return math.NaN(), c.Lenient && !disguised(s)
	}, "a number"
}

// oneHot writes 1 to the place of each row's category, behind every d-th element of out, and
// returns how many values are missing.
func (c *ColumnCode) oneHot(t *Table, j int, out []float64, d int) (gaps int) {
	at, words := placesOf(c.Values), t.wordsOf(j)
	place := func(i int, known bool) int {
		if known {
			return i
		}
		return len(c.Values)
	}
	var of []int // the place of each word, −1 for a missing one
	if words != nil {
		for _, w := range words.List {
			if of = append(of, place(at.of(w.Text))); missing(w.Text) {
				of[len(of)-1] = -1
			}
		}
	}
	values, k := t.Values.Float64s(), len(t.Columns)
	for i := range t.N() {
		p := 0
		if words != nil && words.Codes[i] > 0 {
			p = of[words.Codes[i]-1]
		} else {
			p = place(at.number(values[i*k+j]))
		}
		if p < 0 {
			gaps++
			p = len(c.Values)
			if c.Gaps {
				p++
			}
		}
		out[i*d+p] = 1
	}
	return gaps
}
