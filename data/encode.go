package data

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/tablefile"
)

// ColumnOptions say how [Table.Encode] treats the columns of a table. The zero value decides by
// the cells; the target then is the last column that has values and is no index of pandas.
type ColumnOptions struct {
	Targets     []string // columns to predict
	Classes     bool     // says that the target's values are classes, which may be text
	Drop        []string // columns that are left out
	ID          []string // columns that name the rows, and are left out
	Categorical []string // columns whose cells are categories, also if they are numbers
	Numeric     []string // columns of numbers, whose other cells count as missing
	Missing     string   // MissingMedian, which "" means too, MissingError or MissingDrop
	// Rows, if not nil, returns the rows, of n in all, by which categories and medians are
	// found: those that the network is trained on.
	Rows func(n int) ([]int, error)
}

const (
	// maxCategories is the largest number of categories that have an input each; more become
	// codes.
	maxCategories = 20
	// maxCodes bounds the categories that have codes of their own.
	maxCodes = 10_000
	// mostCategories bounds the different categories of a column, which are counted one by one.
	mostCategories = 1_000_000
	// asked is why columns of ColumnOptions.Drop are left out.
	asked = "as asked for"
	// fewWords is how many different words do not make categories of a column of many different numbers.
	fewWords = 2
	// rare is how often a category of many has to be there to count as one.
	rare = 2
)

// Encode divides the table into targets and features as [Table.Set] does, and turns the
// features into numbers:
//
//   - A column of numbers stays as it is.
//   - Two words such as true and false or yes and no become 0 and 1.
//   - Dates become days since 1970, times of day parts of the day.
//   - Other text is categories. Up to 20 have an input each, and one more is for those that
//     the rows have less than twice or not at all. More become codes, the most frequent first.
//   - Where values are missing the median stands for them, and one more input says so.
//
// Where classes are the folders of images, their names are the labels.
//
// Columns without values, with one word, with a text of its own in most rows, and the
// index that pandas writes are left out. A column of more numbers than words, or of dates with
// few other words, is an error, and so are numbers that are written otherwise, see [disguised].
func (t *Table) Encode(o ColumnOptions) (*Set, error) {
	if len(o.Targets) == 0 && len(t.Columns) > 0 && t.X == nil {
		o.Targets = t.usualTarget()
	}
	if t.X != nil {
		return t.encodeImages(o)
	}
	e := &Encoding{Missing: cmp.Or(o.Missing, MissingMedian), ID: o.ID}
	if err := cmp.Or(t.checkOptions(o), e.Check()); err != nil {
		return nil, err
	}
	at, err := t.decide(o, e)
	if err != nil {
		return nil, err
	}
	targets, err := t.targetColumns(o.Targets)
	if err != nil {
		return nil, err
	}
	if e.Missing == MissingDrop {
		if t, e.LeftOut, err = e.Complete(t, at, targets); err != nil {
			return nil, err
		}
	}
	if err := t.fitColumns(e, at, o); err != nil {
		return nil, err
	}
	set := &Set{Targets: slices.Clone(o.Targets), Features: e.Features(), Encoding: e, Paddings: t.Paddings, Origins: t.Origins}
	if set.X, err = e.Apply(t, at, nil); err != nil {
		return nil, err
	}
	if set.Y, set.Labels, err = t.answers(targets, o.Classes); err != nil {
		return nil, err
	}
	return set, nil
}

// fitColumns completes the codes of e, which read the columns at, by the rows of the options.
func (t *Table) fitColumns(e *Encoding, at []int, o ColumnOptions) error {
	rows, err := o.rows(t.N())
	if err != nil {
		return err
	}
	for i := range e.Columns {
		if err := t.fit(&e.Columns[i], at[i], rows); err != nil {
			return err
		}
	}
	return nil
}

// encodeImages is Encode where the inputs are no columns.
func (t *Table) encodeImages(o ColumnOptions) (*Set, error) {
	if len(o.Drop)+len(o.ID)+len(o.Categorical)+len(o.Numeric) > 0 {
		return nil, settings.Errorf("%s has no columns of inputs to drop, or to treat as id, categorical or numeric", t.Path)
	}
	set, err := t.Set(o.Targets...)
	if err == nil && o.Classes {
		set.Labels = slices.Clone(t.Folders)
	}
	return set, err
}

// checkOptions makes sure that the columns in the options exist and are named once.
func (t *Table) checkOptions(o ColumnOptions) error {
	seen := map[string]bool{}
	for _, name := range slices.Concat(o.Targets, o.ID, o.Categorical, o.Numeric) {
		if _, err := t.Column(name); err != nil {
			return err
		}
	}
	for _, name := range slices.Concat(o.Targets, o.Drop, o.ID, o.Categorical, o.Numeric) {
		if seen[name] && slices.Contains(o.Targets, name) && len(o.Targets) > 1 {
			continue // targetColumns says so
		}
		if seen[name] {
			return settings.Errorf("the column %q is named twice among target, drop, id, categorical and numeric", name)
		}
		seen[name] = true
	}
	return nil
}

// rows returns the rows by which an encoding is found.
func (o ColumnOptions) rows(n int) ([]int, error) {
	if o.Rows != nil {
		return o.Rows(n)
	}
	return dense.Indices(n), nil
}

// decide fills in e.Columns, without the values that come from rows, and e.Omitted. It returns the
// numbers of the columns that are read.
func (t *Table) decide(o ColumnOptions, e *Encoding) (at []int, err error) {
	for j, name := range t.Columns {
		if slices.Contains(o.Targets, name) || slices.Contains(o.ID, name) {
			continue
		}
		if slices.Contains(o.Drop, name) {
			e.Omitted = append(e.Omitted, Omission{name, asked})
			continue
		}
		c, why, err := t.kind(j, o)
		if err != nil {
			return nil, err
		}
		if why != "" {
			e.Omitted = append(e.Omitted, Omission{name, why})
			continue
		}
		at, e.Columns = append(at, j), append(e.Columns, c)
	}
	for _, name := range o.Drop {
		if !slices.Contains(t.Columns, name) { // it was not read
			e.Omitted = append(e.Omitted, Omission{name, asked})
		}
	}
	if left := e.Summary(); len(at) == 0 && len(left) > 0 {
		return nil, fmt.Errorf("%s: no column is left for a feature: %s", t.Path, strings.Join(left, "; "))
	}
	if len(at) == 0 {
		return nil, t.noFeature()
	}
	return at, nil
}

// kind decides how column j is encoded, or why it is left out.
func (t *Table) kind(j int, o ColumnOptions) (c ColumnCode, why string, err error) {
	c.Name = t.Columns[j]
	p := t.profile(j)
	switch {
	case slices.Contains(o.Numeric, c.Name):
		c.Kind, c.Lenient = Number, true
		if p.numbers == 0 {
			err = settings.Errorf("%s: the column %q has no number, expected some of a numeric one", t.Path, c.Name)
		}
		return c, "", err
	case p.numbers == 0 && p.cells == 0:
		return c, "it is empty", nil
	case slices.Contains(o.Categorical, c.Name):
		c.Kind, err = p.categorical(t, j)
		return c, "", err
	case indexed(c.Name), p.cells == 0 && strings.HasPrefix(c.Name, unnamed) && t.numbersRows(j):
		return c, "it numbers the rows, as the index that pandas writes", nil
	case p.cells == 0:
		c.Kind = Number
		return c, "", nil
	}
	return t.kindOfWords(j, c, p)
}

// kindOfWords is kind for a column with words.
func (t *Table) kindOfWords(j int, c ColumnCode, p profile) (ColumnCode, string, error) {
	if p.numbers == 0 {
		var err error
		texts := p.texts()
		if c.Values = boolean(texts); c.Values != nil {
			c.Kind = Boolean
			return c, "", nil
		}
		if c.Layout, err = layoutOf(texts); err != nil {
			return c, "", fmt.Errorf("%s: column %q: %w, or see the setting categorical and the setting drop", t.Path, c.Name, err)
		} else if c.Layout != "" {
			c.Kind = Date
			return c, "", nil
		}
		if w, expected, ok := p.strangeDate(); ok {
			return c, "", t.cell(j, w, expected+" (write the table so, or see the setting drop and the setting categorical)")
		}
	}
	if w, ok := p.most(disguised); ok {
		return c, "", t.cell(j, w, plainly+" (write the table so, or see the setting drop and the setting categorical)")
	}
	if p.numbers > p.cells || p.numbers > 0 && len(p.words) <= fewWords && len(t.keys(j)) > maxCategories {
		return c, "", fmt.Errorf("%w; see the setting categorical, to take the column as text, and the setting numeric, to take such cells as missing", t.noNumber(j, p.words[0]))
	}
	var err error
	if c.Kind, err = p.categorical(t, j); err != nil && 2*len(p.words) <= t.N() {
		return c, "", err
	} else if err != nil {
		return c, fmt.Sprintf("it has %d different texts in %d rows", len(p.words), t.N()), nil
	}
	switch d := len(t.keys(j)); {
	case d == 1 && p.numbers+p.cells == t.N():
		return c, fmt.Sprintf("it is %q in all rows", p.words[0].Text), nil
	case d > maxCategories && 2*d > t.N():
		return c, fmt.Sprintf("it has %d different texts in %d rows (the setting categorical keeps it)", d, t.N()), nil
	}
	return c, "", nil
}

// profile is what the cells of a column are.
type profile struct {
	numbers, cells int    // cells with numbers, and cells with words that are no gaps
	words          []Word // the different words that are no gaps
}

func (t *Table) profile(j int) profile {
	w := t.wordsOf(j)
	if w == nil {
		return profile{numbers: t.N()}
	}
	var p profile
	gap := make([]bool, len(w.List))
	for i, word := range w.List {
		if gap[i] = missing(word.Text); !gap[i] {
			p.words = append(p.words, word)
		}
	}
	for _, code := range w.Codes {
		switch {
		case code == 0:
			p.numbers++
		case !gap[code-1]:
			p.cells++
		}
	}
	return p
}

// texts returns the different words.
func (p profile) texts() []string {
	out := make([]string, len(p.words))
	for i, w := range p.words {
		out[i] = w.Text
	}
	return out
}

// most says whether at least half of the different words are of a kind, and returns the first of these.
func (p profile) most(are func(string) bool) (first Word, ok bool) {
	n := 0
	for i, w := range slices.Backward(p.words) {
		if are(w.Text) {
			n, first = n+1, p.words[i]
		}
	}
	return first, n > 0 && 2*n >= len(p.words)
}

// categorical returns the kind of a column of categories, by their number.
func (p profile) categorical(t *Table, j int) (Kind, error) {
	n := len(p.words)
	if n <= mostCategories {
		n = len(t.keys(j))
	}
	switch {
	case n > mostCategories:
		return Codes, fmt.Errorf("%s: column %q has %d different texts, expected at most %d categories; see the setting drop", t.Path, t.Columns[j], n, mostCategories)
	case n > maxCategories:
		return Codes, nil
	}
	return Categories, nil
}

// keys returns the categories in column j.
func (t *Table) keys(j int) map[string]int { return t.count(j, nil) }

// count counts the categories in column j, in the given rows or in all.
func (t *Table) count(j int, rows []int) map[string]int {
	counts, w, k := map[string]int{}, t.wordsOf(j), len(t.Columns)
	ofWord := make([]int, 1)
	if w != nil {
		ofWord = make([]int, len(w.List)+1)
	}
	numbers := map[float64]int{}
	if rows == nil {
		rows = dense.Indices(t.N())
	}
	for _, i := range rows {
		if w != nil && w.Codes[i] > 0 {
			ofWord[w.Codes[i]]++
		} else {
			numbers[t.Values.Float64s()[i*k+j]]++
		}
	}
	spelled := spellings{}
	for i, n := range ofWord[1:] {
		if text := w.List[i].Text; n > 0 && !missing(text) {
			counts[spelled.of(text)] += n
		}
	}
	for v, n := range numbers {
		counts[tablefile.Number(v)] += n
	}
	return counts
}

// indexed says whether a column has the name that pandas gives to an index without a name in Parquet.
func indexed(name string) bool {
	number, ok := strings.CutPrefix(name, "__index_level_")
	return ok && strings.Trim(number, "0123456789") == "__"
}

// numbersRows says whether column j holds whole numbers from 0 on, each once: rows in another order or without some of
// them keep their numbers.
func (t *Table) numbersRows(j int) bool {
	v := slices.Sorted(slices.Values(t.pick([]int{j}).Float64s()))
	for i, x := range v {
		if x < 0 || x != math.Trunc(x) || i > 0 && x == v[i-1] {
			return false
		}
	}
	return true
}

// usualTarget returns the last column that is no index of pandas and no column without name and values, as a separator at the
// ends of the lines makes one.
func (t *Table) usualTarget() []string {
	for j, name := range slices.Backward(t.Columns) {
		if p := t.profile(j); !indexed(name) && !(strings.HasPrefix(name, unnamed) && p.numbers+p.cells == 0) {
			return []string{name}
		}
	}
	return t.Columns[len(t.Columns)-1:]
}

// pairs are words that mean no and yes.
var pairs = [][]string{{"false", "true"}, {"no", "yes"}, {"f", "t"}, {"n", "y"}, {"off", "on"}}

// boolean returns the pair of which all words are, or nil; both of a pair must be there.
func boolean(words []string) []string {
	for _, pair := range pairs {
		var found [2]bool
		all := true
		for _, w := range words {
			i := slices.Index(pair, strings.ToLower(w))
			if all = all && i >= 0; all {
				found[i] = true
			}
		}
		if all && found[0] && found[1] {
			return pair
		}
	}
	return nil
}

// fit completes the code of column j by what rows tell: categories, median, gaps.
func (t *Table) fit(c *ColumnCode, j int, rows []int) error {
	if c.Kind == Categories || c.Kind == Codes {
		c.Values = ranked(t.count(j, rows), c.Kind)
	}
	if c.Kind == Categories {
		c.Gaps = t.lacks(j, rows)
		return nil
	}
	out := make([]float64, t.N())
	probe := *c
	probe.Median = math.NaN()
	if _, err := probe.scalar(t, j, out, 1); err != nil {
		return err
	}
	var known []float64
	for _, i := range rows {
		if out[i] == out[i] {
			known = append(known, out[i])
		}
	}
	c.Gaps = len(known) < len(rows)
	if len(known) > 0 {
		c.Median = median(known)
	}
	return nil
}

// lacks says whether some of the rows lack a value in column j.
func (t *Table) lacks(j int, rows []int) bool {
	w := t.wordsOf(j)
	return w != nil && slices.ContainsFunc(rows, func(i int) bool { return w.Codes[i] > 0 && missing(w.List[w.Codes[i]-1].Text) })
}

// ranked returns the categories of counts. Categories are in the order of their names, without
// rare categories; Codes are in the order of falling frequency.
func ranked(counts map[string]int, kind Kind) []string {
	values := slices.Sorted(maps.Keys(counts))
	if kind == Categories {
		often := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return counts[v] < rare })
		if len(often) > 0 {
			return often
		}
		return values
	}
	slices.SortStableFunc(values, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	return values[:min(len(values), maxCodes)]
}

// median returns the middle number, or the mean of the two, and sorts v.
func median(v []float64) float64 {
	slices.Sort(v)
	n := len(v)
	if n%2 == 1 {
		return v[n/2]
	}
	return v[n/2-1] + (v[n/2]-v[n/2-1])/2
}
