package assess

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/figure"
	"github.com/go-valla/valla/internal/settings"
)

// Options say what is shown.
type Options struct {
	Data, Model string  // files, as the page names them
	Level       float64 // probability of the intervals or sets of the summary; 0 is 0.95
	Notes       []string
	valla.PredictOptions
}

// Page is what is shown.
type Page struct {
	Options
	Name    string // of the model
	Rows    int
	Targets []string
	Summary []string
	Scores  Table
	Parts   []Part
	Program string
}

// Part is a section of the page: that of one target, or of the classes.
type Part struct {
	Title   string
	Classes bool
	Figures []Figure
	Tables  []Table
}

// Figure is a picture that answers one question.
type Figure struct {
	Title, Caption string
	Chart          figure.Chart
}

// Table has rows of texts below a heading.
type Table struct {
	Title, Caption string
	Head           []string
	Rows           [][]Cell
}

// Cell is one of a table.
type Cell struct {
	Text  string
	Best  bool
	Shade float64 // from 0 to 1, of a table of counts
}

// New compares the predictions of a model for the rows of a set with their targets. It returns
// ctx's error if ctx ends first.
func New(ctx context.Context, m *valla.Model, set *data.Set, o Options) (*Page, error) {
	if o.Level == 0 {
		o.Level = 0.95
	}
	if !(o.Level > 0 && o.Level < 1) {
		return nil, settings.Errorf("level %g, expected a probability between 0 and 1", o.Level)
	}
	if err := m.Task.CheckSet(set); err != nil {
		return nil, err
	}
	list, notes, err := candidates(ctx, m, set, o.PredictOptions)
	if err != nil {
		return nil, err
	}
	page := &Page{Options: o, Name: m.String(), Rows: set.N(), Targets: m.Task.Outputs.Targets(), Scores: scores(list), Program: valla.Version()}
	page.Notes = append(append(page.Notes, familiar(m, set.N())...), notes...)
	s := subject{m: m, set: set, all: list, is: list[plain(m)-1], level: o.Level}
	if set.Features != nil {
		s.x = graph.Floats(set.X)
	}
	if s.nlls, err = m.Task.Outputs.NLLs(s.is.p, set.Y); err != nil {
		return nil, err
	}
	if err := page.summarize(s, list[0]); err != nil {
		return nil, err
	}
	if classes(m) {
		page.Parts = []Part{s.classes()}
		return page, nil
	}
	for t := range page.Targets {
		page.Parts = append(page.Parts, s.target(t))
	}
	return page, nil
}

// plain is how many candidates of a model are no temperatures; the last of them is the model.
func plain(m *valla.Model) int {
	n := 1
	if m.Posterior != nil {
		n++
	}
	if m.Calibration != nil {
		n++
	}
	return n
}

// subject is the model that the page is about, with all candidates.
type subject struct {
	m     *valla.Model
	set   *data.Set
	all   []candidate
	is    candidate
	nlls  []float64 // of its rows
	x     []float64 // inputs that are columns, [N,D]
	level float64
}

// familiar says so where the rows may be those of the training, of which there were as many.
func familiar(m *valla.Model, rows int) []string {
	for _, e := range m.History {
		if e.Action == valla.ActionTrain && (rows == e.Rows || rows == e.Rows+e.ValidationRows) {
			return []string{fmt.Sprintf("The network was trained on a table of %d rows, too. If these are the same rows, the page says little about new ones.", rows)}
		}
	}
	return nil
}

// summarize says in sentences whether the error bars help and hold.
func (p *Page) summarize(s subject, network candidate) error {
	if s.m.Posterior != nil || s.m.Calibration != nil {
		before, err := s.m.Task.Outputs.NLLs(network.p, s.set.Y)
		if err != nil {
			return err
		}
		p.Summary = append(p.Summary, compare(s.nlls, before, s.is.Name))
	}
	values := s.is.y
	if s.is.p.Classes != nil && s.is.p.Conformal == nil {
		return nil // classes without sets
	}
	inside, size, err := s.is.p.Covered(values, s.level)
	if err != nil {
		return err
	}
	n := float64(len(values))
	spread := 1.96 * math.Sqrt(s.level*(1-s.level)/float64(s.set.N())) // the targets of a row may go together
	kind, holds := "intervals", "targets"
	if s.is.p.Classes != nil {
		kind, holds = fmt.Sprintf("sets, of %.2f classes on average,", size), "classes"
	}
	p.Summary = append(p.Summary, fmt.Sprintf("The %g %% %s hold %.1f %% of the %s. Exact ones hold %.1f to %.1f %% in 19 of 20 tables of this size.",
		100*s.level, kind, 100*float64(inside)/n, holds, 100*max(0, s.level-spread), 100*min(1, s.level+spread)))
	return nil
}

// matters is the least difference of two NLLs that is worth a word.
const matters = 0.001

// compare says which of two models has the smaller NLL, from those of the same rows.
func compare(model, network []float64, name string) string {
	n, sum, squares := float64(len(model)), 0.0, 0.0
	of, alone := 0.0, 0.0
	for i := range model {
		d := model[i] - network[i]
		sum, squares = sum+d, squares+d*d
		of, alone = of+model[i]/n, alone+network[i]/n
	}
	mean := sum / n
	err := math.Sqrt(max(0, squares/n-mean*mean) / max(1, n-1))
	verdict := "that is no clear difference"
	switch {
	case math.Abs(mean) < matters:
		verdict = "that is next to nothing"
	case mean < -2*err:
		verdict = "the error bars help"
	case mean > 2*err:
		verdict = "the error bars are worse than none"
	}
	return fmt.Sprintf("The mean negative log-likelihood (NLL) of a row is %.4f with %s and %.4f with the network alone. The difference is %.2g ± %.2g (standard error): %s.",
		of, name, alone, mean, err, verdict)
}

// scores is the table of all candidates. The best of each column is marked, unless all are equal.
func scores(list []candidate) Table {
	t := Table{Title: "Scores", Head: []string{""}, Rows: make([][]Cell, len(list))}
	for i, c := range list {
		t.Rows[i] = []Cell{{Text: c.Name}}
	}
	for k, s := range list[0].scores.List {
		t.Head = append(t.Head, s.Name)
		var column []float64 // as it is shown
		for i, c := range list {
			text := fmt.Sprintf("%.4f", c.scores.List[k].Value)
			v, _ := strconv.ParseFloat(text, 64) // of a number just written
			column, t.Rows[i] = append(column, v), append(t.Rows[i], Cell{Text: text})
		}
		low, high := slices.Min(column), slices.Max(column)
		best := low
		if s.Name == "ACC" {
			best = high
		}
		for i, v := range column {
			t.Rows[i][k+1].Best = v == best && low < high
		}
	}
	return t
}

// number is a number with four digits that count, or all before its point.
func number(v float64) string {
	if a := math.Abs(v); a >= 1e-4 && a < 1e9 {
		return strconv.FormatFloat(v, 'f', max(0, 3-int(math.Floor(math.Log10(a)))), 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// ascending returns the places of numbers in ascending order.
func ascending(v []float64) []int {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(v[a], v[b]) })
	return order
}

// descending is ascending from the largest number on; of equal ones the first comes first.
func descending(v []float64) []int {
	less := make([]float64, len(v))
	for i, x := range v {
		less[i] = -x
	}
	return ascending(less)
}
