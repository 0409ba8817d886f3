package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

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
	type entry struct {
		*line
		column int // of the data set
	}
	var all []entry
	for i, data := range f.Data {
		t.Columns = append(t.Columns, Column{data, here, m.digits, m.sign})
		for _, l := range gather(f, data) {
			if l.probs == "" && l.has(m.name, here, nil) {
				all = append(all, entry{l, i})
			}
		}
	}
	for _, row := range result.Grouped(all, func(e entry) string { return e.method }) {
		r := Row{Method: row[0].method, Cells: slices.Repeat([]Cell{{Value: math.NaN()}}, len(t.Columns))}
		var seeds []int
		for _, e := range row {
			r.Cells[e.column] = e.cell(Column{m.name, here, m.digits, m.sign}, nil)
			seeds = append(seeds, e.seeds())
		}
		r.Seeds = span(seeds)
		t.Rows = append(t.Rows, r)
	}
	for i := range t.Columns {
		t.mark(i, m.sign)
	}
	return t
}

// span returns the range of numbers in words, such as 1–3, or 2 where all are 2.
func span(n []int) string {
	low, high := slices.Min(n), slices.Max(n)
	if low == high {
		return strconv.Itoa(low)
	}
	return fmt.Sprintf("%d–%d", low, high)
}
