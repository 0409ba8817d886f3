package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/go-valla/valla/experiments/internal/result"
)

// metric is a kind of number. A table has a column for each source of the number.
type metric struct {
	name   string  // as in the head of a column
	digits int     // decimals
	sign   float64 // 1: the larger the better; −1: the smaller; 0: neither
}

// metrics lists the scores in the order of columns.
var metrics = []metric{
	{"ACC", 4, 1}, {"NLL", 4, -1}, {"RMSE", 4, -1}, {"CRPS", 4, -1}, {"CQM", 4, -1}, {"ECE", 4, -1}, {"Brier", 4, -1},
	{"OOD-AUC", 4, 1}, {"Δσ", 4, -1},
}

// costs lists what a fit found and took, in a table of its own.
var costs = []metric{{"σ₀", 4, 0}, {"Δψ", 6, 0}, {"fit, s", 1, 0}, {"CPU, s", 1, 0}, {"peak, MiB", 0, 0}, {"predict, s", 1, 0}}

// Sources of numbers.
const (
	printed   = "printed"
	corrected = "corrected" // the printed CQM less 0.05
	runs      = "released"  // means over the runs that the authors released
	here      = "measured"  // by this program
)

// Table is a table of the report.
type Table struct {
	Title   string   // the name of the data set, or of the metric
	Columns []Column // the columns of numbers
	Rows    []Row    // the rows, each with a cell for each column
	Probs   bool     // there are class probabilities, so that rows are of two kinds
	Says    []string // sentences about the table
}

// Column is one column of numbers.
type Column struct {
	Metric, Source string  // the metric, and where its numbers come from
	digits         int     // decimals
	sign           float64 // as in metric
}

// Row is one row of a table.
type Row struct {
	Method, Probs string // the row's name, and the kind of class probabilities
	Seeds         string // such as 5, or 3 of 5 if some are missing or refused
	Note          string // why cells were refused, where others were not
	Cells         []Cell // one for each column
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
	Text  string  // as the table shows it; "" where there is nothing
	Value float64 // to sort by; NaN where there is none
	Mark  Mark    // the rank of the number in its column
	Note  string  // the reason in full
}

// tables returns the tables of a data set: the scores, with the published rows that were not
// measured, and what the fits took.
func tables(f result.Found, data string) (scores, took Table) {
	lines, p := gather(f, data), publishedFor(data)
	if lines == nil {
		return Table{}, Table{}
	}
	once := slices.Clone(lines) // the fit is the same for both kinds of probabilities
	once = slices.DeleteFunc(once, func(l *line) bool {
		return l.done == 0 || l.probs == "mc" && slices.ContainsFunc(lines, func(o *line) bool { return o.key == l.key && o.probs == "probit" })
	})
	took = newTable(data, once, p, costs)
	took.Probs = false
	scores = newTable(data, withPublished(lines, p), p, metrics)
	scores.Says = verdicts(lines, p)
	return scores, took
}

// newTable makes a table of lines, with the columns of those metrics of which there are numbers.
func newTable(data string, lines []*line, p *published, of []metric) Table {
	t := Table{Title: data}
	for _, m := range of {
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
		if !slices.ContainsFunc(lines, func(l *line) bool { return l.paper == method }) {
			for at := range p.printed {
				if at.method == method {
					lines = append(lines, &line{place: at, key: method, paper: method})
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

// moments returns the mean and the standard deviation of a sample, which divides by n − 1 and is 0 for one number.
func moments(v []float64) (mean, std float64) {
	if mean, std = stat.MeanStdDev(v, nil); len(v) == 1 {
		std = 0
	}
	return mean, std
}

// mark marks the best and the second best number of a column, as rounded in the table. It
// marks neither a number that half of the rows have nor a number worse than that.
func (t *Table) mark(column int, sign float64) {
	shown := func(r Row) (float64, bool) {
		text, _, _ := strings.Cut(r.Cells[column].Text, " ")
		v, err := strconv.ParseFloat(text, 64)
		return sign * v, err == nil
	}
	var ranks []float64
	count := map[float64]int{}
	for _, r := range t.Rows {
		if v, ok := shown(r); ok {
			if count[v]++; count[v] == 1 {
				ranks = append(ranks, v)
			}
		}
	}
	slices.Sort(ranks)
	slices.Reverse(ranks)
	common := func(v float64) bool { return 2*count[v] >= len(t.Rows) && len(t.Rows) > 2 }
	if len(ranks) < 2 || common(ranks[0]) {
		return
	}
	for i, r := range t.Rows {
		switch v, ok := shown(r); {
		case ok && v == ranks[0]:
			t.Rows[i].Cells[column].Mark = Best
		case ok && v == ranks[1] && !common(v):
			t.Rows[i].Cells[column].Mark = Second
		}
	}
}
