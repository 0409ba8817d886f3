package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// metric is a kind of number. A table has a column for each source of it.
type metric struct {
	name   string
	digits int
	sign   float64 // 1: the larger the better; −1: the smaller; 0: neither
}

// metrics lists the scores in the order of columns.
var metrics = []metric{
	{"ACC", 4, 1}, {"NLL", 4, -1}, {"RMSE", 4, -1}, {"CRPS", 4, -1}, {"CQM", 4, -1}, {"ECE", 4, -1}, {"Brier", 4, -1},
	{"OOD-AUC", 4, 1}, {"Δσ", 4, -1}, {"σ₀", 4, 0},
}

// costs lists the last columns.
var costs = []metric{{"fit, s", 1, 0}, {"CPU, s", 1, 0}, {"peak, MiB", 0, 0}, {"predict, s", 1, 0}}

// Sources of numbers.
const (
	printed   = "printed"
	corrected = "corrected" // the printed CQM less 0.05
	runs      = "authors’ runs"
	here      = "measured" // by this program
)

// Table is a table of the report.
type Table struct {
	Title   string
	Columns []Column
	Rows    []Row
	Probs   bool     // there are class probabilities, so that rows are of two kinds
	Says    []string // sentences about the table
}

// Column is one column of numbers.
type Column struct {
	Metric, Source string
	digits         int
	sign           float64
}

// Row is one row of a table.
type Row struct {
	Method, Probs string
	Seeds         string // such as 5, or 3 of 5 if some are missing
	Cells         []Cell
}

// Mark ranks a number in its column.
type Mark int

// The ranks that are shown.
const (
	Plain Mark = iota
	Best
	Second
)

// Cell is one number, or the reason why there is none.
type Cell struct {
	Text  string
	Value float64 // to sort by; NaN where there is none
	Mark  Mark
	Note  string // the reason in full
}

// newTable makes a table of lines and of the published numbers.
func newTable(data string, lines []*line, p *published) Table {
	lines = withPublished(lines, p)
	t := Table{Title: data, Says: verdicts(lines, p)}
	for _, m := range slices.Concat(metrics, costs) {
		for _, source := range []string{printed, corrected, runs, here} {
			if slices.ContainsFunc(lines, func(l *line) bool { return l.has(m.name, source, p) }) {
				t.Columns = append(t.Columns, Column{m.name, source, m.digits, m.sign})
			}
		}
	}
	for _, l := range lines {
		t.Rows = append(t.Rows, l.row(t.Columns, p))
		t.Probs = t.Probs || l.probs != ""
	}
	for i, c := range t.Columns {
		if c.sign != 0 {
			t.mark(i, c.sign)
		}
	}
	return t
}

// withPublished adds lines for methods that are published and not measured.
func withPublished(lines []*line, p *published) []*line {
	for _, method := range p.order {
		if !slices.ContainsFunc(lines, func(l *line) bool { return l.method == method }) {
			for at := range p.printed {
				if at.method == method {
					lines = append(lines, &line{place: at})
				}
			}
		}
	}
	return lines
}

// format returns a number with the given number of decimals, and with one if it is large.
func format(v float64, digits int) string {
	if v-v != 0 {
		return strings.Replace(fmt.Sprint(v), "Inf", "∞", 1)
	}
	if a := math.Abs(v); a >= 1000 && digits > 1 {
		digits = 1
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// moments returns the mean and the standard deviation of a sample, which divides by n − 1.
func moments(v []float64) (mean, std float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		std += (x - mean) * (x - mean)
	}
	if len(v) > 1 {
		std = math.Sqrt(std / float64(len(v)-1))
	}
	return mean, std
}

// mark marks the best and the second best number of a column, as rounded in the table. It
// marks none if all are equal.
func (t *Table) mark(column int, sign float64) {
	shown := func(r Row) (float64, bool) {
		text, _, _ := strings.Cut(r.Cells[column].Text, " ± ")
		v, err := strconv.ParseFloat(text, 64)
		return sign * v, err == nil
	}
	var ranks []float64
	for _, r := range t.Rows {
		if v, ok := shown(r); ok && !slices.Contains(ranks, v) {
			ranks = append(ranks, v)
		}
	}
	if len(ranks) < 2 {
		return
	}
	slices.Sort(ranks)
	slices.Reverse(ranks)
	for i, r := range t.Rows {
		switch v, ok := shown(r); {
		case ok && v == ranks[0]:
			t.Rows[i].Cells[column].Mark = Best
		case ok && v == ranks[1]:
			t.Rows[i].Cells[column].Mark = Second
		}
	}
}
