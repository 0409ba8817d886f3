package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-valla/valla/experiments/internal/result"
)

// manySets is the number of data sets from which on an experiment has summaries.
const manySets = 3

// summaries returns a table for each of NLL, CRPS and CQM, with a column for each data set. There
// are none for images, and for few data sets.
func summaries(f result.Found) (out []Table) {
	if len(f.Data) < manySets {
		return nil
	}
	for _, m := range metrics {
		if !slices.Contains([]string{"NLL", "CRPS", "CQM"}, m.name) {
			continue
		}
		if t := summary(f, m); len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// summary returns the table of one metric. Rows of different data sets are the same if they have
// the same name: their keys differ where settings come from the data.
func summary(f result.Found, m metric) Table {
	t := Table{Title: m.name}
	row := func(l *line) *Row {
		for i := range t.Rows {
			if t.Rows[i].Method == l.method {
				return &t.Rows[i]
			}
		}
		t.Rows = append(t.Rows, Row{Method: l.method})
		return &t.Rows[len(t.Rows)-1]
	}
	for _, data := range f.Data {
		t.Columns = append(t.Columns, Column{data, here, m.digits, m.sign})
		for _, l := range gather(f, data) {
			if l.probs != "" || !l.has(m.name, here, nil) {
				continue
			}
			r := row(l)
			r.fill(len(t.Columns) - 1)
			r.Cells = append(r.Cells, l.cell(Column{m.name, here, m.digits, m.sign}, nil))
			r.Seeds = span(r.Seeds, l.done)
		}
	}
	for i := range t.Rows {
		t.Rows[i].fill(len(t.Columns))
	}
	for i := range t.Columns {
		t.mark(i, m.sign)
	}
	return t
}

// span adds a number to a range in words, such as 1–3; "" is the empty one.
func span(in string, n int) string {
	low, high := n, n
	if from, to, ok := strings.Cut(in, "–"); in != "" {
		if !ok {
			to = from
		}
		a, _ := strconv.Atoi(from) // they are of an earlier call
		b, _ := strconv.Atoi(to)
		low, high = min(a, n), max(b, n)
	}
	if low == high {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d–%d", low, high)
}

// fill adds empty cells up to a number of cells.
func (r *Row) fill(n int) {
	for len(r.Cells) < n {
		r.Cells = append(r.Cells, Cell{Value: math.NaN()})
	}
}
