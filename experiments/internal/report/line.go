package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/go-valla/valla/experiments/internal/result"
)

// line holds the cells of a row of a table, of all seeds.
type line struct {
	place
	key      string               // of the method and all settings; the row's name where all cells are missing
	paper    string               // the row of the published tables, "" where there is none
	far      int                  // from the published settings, see paperRow
	measured map[string][]float64 // by metric, a value for each seed
	cells    []*result.Cell       // the finished cells that were not refused
	done     int                  // the number of finished cells
	expected int                  // the number of cells of the plan
	refused  string               // why a fit was refused, or ""
}

// gather collects the lines of a data set, in the order of the plan.
func gather(f result.Found, data string) []*line {
	var lines []*line
	find := func(key string, at place) *line {
		for _, l := range lines {
			if l.key == key && l.probs == at.probs {
				return l
			}
		}
		l := &line{place: at, key: key, paper: at.method, measured: map[string][]float64{}}
		lines = append(lines, l)
		return l
	}
	keys := keysOf(f, data)
	exact := exactBands(f, data)
	for i, id := range f.Cells {
		if id.Data != data {
			continue
		}
		c, key := f.Done[i], keys[id.Row]
		if c != nil {
			key = c.Key()
		}
		for _, probs := range kindsOf(f, id.Data, id.Row) {
			l := find(key, place{id.Row, probs})
			l.expected++
			if c != nil {
				l.add(c, probs, exact[id.Seed])
			}
		}
	}
	for _, l := range lines {
		l.cost()
	}
	pair(lines)
	return lines
}

// keysOf returns the key of the first finished cell of each row, under which missing cells are
// counted, and the row's name where all are missing.
func keysOf(f result.Found, data string) map[string]string {
	keys := map[string]string{}
	for i, id := range f.Cells {
		if id.Data != data || keys[id.Row] != "" && keys[id.Row] != id.Row {
			continue
		}
		keys[id.Row] = id.Row
		if c := f.Done[i]; c != nil {
			keys[id.Row] = c.Key()
		}
	}
	return keys
}

// kindsOf returns the kinds of probabilities of a row, in the order of the table.
func kindsOf(f result.Found, data, row string) []string {
	kinds := map[string]bool{}
	for _, c := range f.Done {
		if c != nil && c.Data == data && c.Row == row {
			for k := range c.Scores {
				kinds[k] = true
			}
		}
	}
	if len(kinds) == 0 {
		for _, c := range f.Done { // other rows tell whether there are classes
			if c != nil && c.Data == data && c.Scores["probit"] != nil {
				return []string{"probit"}
			}
		}
		for at := range publishedFor(data).printed { // or the published rows tell
			if at.probs != "" {
				return []string{"probit"}
			}
		}
		return []string{""}
	}
	var list []string
	for _, k := range []string{"", "own", "probit", "mc"} {
		if kinds[k] {
			list = append(list, k)
		}
	}
	return list
}

// add adds the numbers of a finished cell.
func (l *line) add(c *result.Cell, probs string, exact *result.Band) {
	if l.done++; l.done == 1 {
		l.paper, l.far = paperRow(c)
	}
	put := func(name string, v float64) { l.measured[name] = append(l.measured[name], v) }
	if c.Refused != "" {
		l.refused = c.Refused
		return
	}
	l.cells = append(l.cells, c)
	for name, v := range c.Scores[probs] {
		put(name, float64(v))
	}
	if c.Facts.PriorStd != 0 {
		put("σ₀", float64(c.Facts.PriorStd))
	}
	if v, ok := c.Facts.Found["largest change of ψ"]; ok {
		put("Δψ", float64(v))
	}
	if exact != nil && c.Curves.Band != nil && !isExact(c) {
		put("Δσ", result.StdError(exact, c.Curves.Band))
	}
}

// cost adds what the cells of one machine took.
func (l *line) cost() {
	put := func(name string, v float64) { l.measured[name] = append(l.measured[name], v) }
	for _, c := range oneMachine(l.cells) {
		if c.Fit.Runs > 0 {
			put("fit, s", c.Fit.Wall)
			put("CPU, s", c.Fit.CPU)
			put("peak, MiB", float64(c.Fit.Peak)/(1<<20))
		}
		put("predict, s", c.Predict.Wall)
	}
}

// oneMachine returns the cells of the processor that has most of them; of processors with equally many, of the one with the latest
// cell. A mean over several processors would be the time of none.
func oneMachine(cells []*result.Cell) (most []*result.Cell) {
	finished := func(a, b *result.Cell) int { return a.Machine.Finished.Compare(b.Machine.Finished) }
	for _, of := range result.Grouped(cells, func(c *result.Cell) string { return c.Machine.CPU }) {
		more := len(of) - len(most)
		if more > 0 || more == 0 && finished(slices.MaxFunc(of, finished), slices.MaxFunc(most, finished)) > 0 {
			most = of
		}
	}
	return most
}

// seeds is the number of cells whose scores are averaged, or of finished cells where all were refused.
func (l *line) seeds() int {
	if len(l.cells) > 0 {
		return len(l.cells)
	}
	return l.done
}

// exactBands returns the bands of exact LLA by seed.
func exactBands(f result.Found, data string) map[uint64]*result.Band {
	bands := map[uint64]*result.Band{}
	for _, c := range f.Done {
		if c != nil && c.Data == data && isExact(c) {
			bands[c.Seed] = c.Curves.Band
		}
	}
	return bands
}

// values returns the numbers of a line for a column; nil if there are none.
func (l *line) values(name, source string, p *published) []float64 {
	one := func(v float64, ok bool) []float64 {
		if !ok || math.IsNaN(v) {
			return nil
		}
		return []float64{v}
	}
	at := place{l.paper, l.probs}
	switch source {
	case printed:
		v, ok := p.printed[at][name]
		return one(v, ok)
	case corrected:
		v, ok := p.printed[at][name]
		return one(v-0.05, ok && name == "CQM")
	case runs:
		v, ok := p.runs[at][name]
		return one(v, ok)
	}
	return l.measured[name]
}

// has reports whether the line has a number for a column.
func (l *line) has(name, source string, p *published) bool { return len(l.values(name, source, p)) > 0 }

// row returns the line as a row of the table with the given columns.
func (l *line) row(columns []Column, p *published) Row {
	r := Row{Method: l.method, Probs: l.probs}
	if len(l.cells) > 0 {
		r.Note = l.refused
	}
	switch n := l.seeds(); {
	case l.expected > 0 && n < l.expected:
		r.Seeds = fmt.Sprintf("%d of %d", n, l.expected)
	case l.expected > 0:
		r.Seeds = strconv.Itoa(l.expected)
	}
	for _, c := range columns {
		r.Cells = append(r.Cells, l.cell(c, p))
	}
	return r
}

// cell returns the mean over seeds with its standard deviation, or why there is none.
func (l *line) cell(c Column, p *published) Cell {
	v := l.values(c.Metric, c.Source, p)
	switch {
	case len(v) > 0:
		digits := c.digits
		if c.Source == printed || c.Source == corrected {
			digits = 3
		}
		mean, std := moments(v)
		cell := Cell{Text: format(mean, digits), Value: mean}
		if len(v) > 1 && c.sign != 0 {
			cell.Text += " ± " + format(std, digits)
		}
		return cell
	case c.Source == here && l.refused != "" && c.sign != 0:
		return Cell{Text: "too large", Value: math.NaN(), Note: l.refused}
	case c.Source == here && l.expected > 0 && l.done == 0 && c.sign != 0:
		return Cell{Text: "missing", Value: math.NaN()}
	}
	return Cell{Value: math.NaN()}
}
