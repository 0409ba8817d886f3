package assess

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/audit"
	"github.com/go-valla/valla/internal/coverage"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/figure"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/settings"
)

// Options say what the page shows.
type Options struct {
	Data  string   // name of the file of rows on the page
	Model string   // name of the model file on the page
	Level float64  // probability of the intervals or sets in the summary; 0 means 0.95
	Notes []string // sentences about the rows
	Rules []Rule   // rules to judge
	valla.PredictOptions
}

// Page is the content of the page.
type Page struct {
	Options
	Name    string      // name of the model's method
	Rows    int         // number of rows
	Targets []string    // names of the targets
	Summary []string    // sentences about the error bars
	Scores  Table       // scores of the candidates
	Help    [][2]string // names of the scores, and what they are
	Larger  string      // names of the scores of which more is better; "" for none
	Noise   bool        // whether the network alone has a noise
	Hot     bool        // whether there are candidates with a temperature
	Parts   []Part      // a section for each target, or one section for a classification

	Judged   []Judged      // the rules with what was found
	Audit    *audit.Result // faults of the rows and of the predictions
	Searched string        // sentence about where faults were looked for
	Checks   []Table       // tables about all targets together
	Program  string        // version of the program
}

// Part is a section of the page: about one target of a regression, or about a classification.
type Part struct {
	Title   string   // name of the target
	Classes bool     // whether the target holds classes
	Figures []Figure // pictures of the section
	Tables  []Table  // tables of the section
}

// Figure is a picture that answers one question.
type Figure struct {
	Title   string       // the question
	Caption string       // how to read the picture
	Chart   figure.Chart // the picture
}

// Table has rows of texts below a heading.
type Table struct {
	Title   string   // title of the table
	Caption string   // how to read the table; may be ""
	Head    []string // names of the columns
	Rows    [][]Cell // cells, row by row
}

// Cell is a cell of a table.
type Cell struct {
	Text  string  // content of the cell
	Best  bool    // whether the number is the best of its column
	Shade float64 // share of the row's counts, from 0 to 1; 0 in a table without counts
}

// New returns the page that compares the predictions of m for the rows of set with their targets. If
// ctx ends first, New returns the error of ctx.
func New(ctx context.Context, m *valla.Model, set *data.Set, o Options) (*Page, error) {
	if o.Level == 0 {
		o.Level = 0.95
	}
	if !(o.Level > 0 && o.Level < 1) {
		return nil, settings.Errorf("level: expected a probability between 0 and 1, found %g", o.Level)
	}
	if err := m.Task.CheckSet(set); err != nil {
		return nil, err
	}
	list, notes, err := candidates(ctx, m, set, o.PredictOptions)
	if err != nil {
		return nil, err
	}
	page := &Page{Options: o, Name: m.String(), Rows: set.N(), Targets: m.Task.Targets(), Scores: scores(list), Program: valla.Version()}
	page.Help, page.Larger = glossary(list)
	page.Noise, page.Hot = m.NoiseStds() != nil, list[len(list)-1].order != nil
	page.Notes = append(append(page.Notes, familiar(m, set)...), notes...)
	models, network := Models(m)
	s := subject{m: m, set: set, all: list, is: list[len(models)-1], level: o.Level}
	if set.Features != nil {
		s.x = graph.Floats(set.X)
	}
	if s.nlls, err = m.Task.NLLs(s.is.p, set.Y); err != nil {
		return nil, err
	}
	audited := make(chan error, 1)
	go func() { audited <- page.audit(ctx, s) }() // beside the pictures, on another core
	page.Parts = s.parts()
	if err := cmp.Or(<-audited, page.summarize(s, list[network])); err != nil {
		return nil, err
	}
	return page, nil
}

// parts returns the sections of the page.
func (s subject) parts() []Part {
	if s.m.Task.Classifies() {
		return []Part{s.classes()}
	}
	var out []Part
	for t := range s.is.p.Targets {
		out = append(out, s.target(t))
	}
	return out
}

// subject is the model that the page is about.
type subject struct {
	m     *valla.Model // model
	set   *data.Set    // rows with targets
	all   []candidate  // candidates to compare
	is    candidate    // candidate that is the model
	nlls  []float64    // negative log-likelihood of each row [N]
	x     []float64    // inputs [N,D]; nil if they are no columns
	level float64      // probability of intervals and sets
}

// Seen says what follows from rows of the training or of the fit, see [valla.Seen].
const Seen = "They say little about new rows."

// Remedy returns a sentence on what corrects intervals of m that do not hold their level; "" where nothing does.
func Remedy(m *valla.Model) string {
	if m.Calibration != nil || m.Likelihood().Width() > 1 {
		return ""
	}
	return "valla calibrate --method conformal corrects them by rows that neither training nor fit has used."
}

// familiar returns a warning if rows of a set are rows of the training.
func familiar(m *valla.Model, set *data.Set) []string {
	seen := m.Seen()
	seen.Add(set)
	return seen.Notes(Seen)
}

// summarize adds sentences about whether the error bars help, and whether they hold.
func (p *Page) summarize(s subject, network candidate) error {
	if s.m.Posterior != nil || s.m.Calibrated() {
		before, err := s.m.Task.NLLs(network.p, s.set.Y)
		if err != nil {
			return err
		}
		p.Summary = append(p.Summary, compare(s.nlls, before, s.is.Name, network.Name))
	}
	var off coverage.Check
	if err := off.Add(s.is.p, s.is.y); err != nil {
		return err
	}
	if text := off.String(); text != "" {
		p.Summary = append(p.Summary, strings.TrimSpace(text+". "+Remedy(s.m)))
	}
	tally := coverage.Tally{Level: s.level}
	if err := tally.Add(s.is.p, s.is.y); err != nil {
		return err
	}
	share, size := tally.Means()
	if share == nil {
		return nil // a classification without sets
	}
	spread := 1.96 * math.Sqrt(s.level*(1-s.level)/float64(s.set.N())) // targets of one row may be dependent
	name, kind, holds := "intervals", "intervals", "targets"
	if s.is.p.Classes != nil {
		name, kind, holds = "sets", fmt.Sprintf("sets, of %.2f classes on average,", *size), "classes"
	}
	exact := fmt.Sprintf("Exact %s hold %.1f to %.1f %% in 19 of 20 tables of this size.", name, 100*max(0, s.level-spread), 100*min(1, s.level+spread))
	if s.is.p.Whole() {
		exact = "Exact intervals of whole numbers hold their level or more."
	}
	p.Summary = append(p.Summary, fmt.Sprintf("The %g %% %s hold %.1f %% of the %s. %s", 100*s.level, kind, 100**share, holds, exact))
	return nil
}

// compare returns a sentence about which of two models has the smaller mean NLL. Model and network are
// the NLLs of the same rows, and name and alone are the names of the models.
func compare(model, network []float64, name, alone string) string {
	means := fmt.Sprintf("The mean negative log-likelihood (NLL) of a row is %.4f with %s and %.4f with the network alone, %s.", kernel.Mean(model), name, kernel.Mean(network), alone)
	if len(model) < 2 { // one row has no standard error
		return means
	}
	mean, err := kernel.MeanDifference(model, network)
	verdict := "that is no clear difference"
	switch {
	case math.Abs(mean) < valla.LeastDifference:
		verdict = "that is next to nothing"
	case mean < -2*err:
		verdict = "the error bars help"
	case mean > 2*err:
		verdict = "the error bars are worse than none"
	}
	return fmt.Sprintf("%s The difference is %.2g ± %.2g (standard error): %s.", means, mean, err, verdict)
}

// scores returns the table of the scores of all candidates, each with its standard error. It marks the best number of
// each column, unless all are equal.
func scores(list []candidate) Table {
	t := Table{Title: "Scores", Head: []string{""}, Rows: make([][]Cell, len(list))}
	for i, c := range list {
		t.Rows[i] = []Cell{{Text: c.Name}}
	}
	for k, s := range list[0].scores.List {
		t.Head = append(t.Head, s.Name)
		var column []float64 // numbers as the table shows them
		for i, c := range list {
			own := c.scores.List[k]
			text := ScoreText(own.Value)
			v, _ := strconv.ParseFloat(text, 64) // the text is a number
			if own.StandardError > 0 {
				text += fmt.Sprintf(" ± %.2g", own.StandardError)
			}
			column, t.Rows[i] = append(column, v), append(t.Rows[i], Cell{Text: text})
		}
		low, high := slices.Min(column), slices.Max(column)
		best := low
		if s.Larger {
			best = high
		}
		for i, v := range column {
			t.Rows[i][k+1].Best = v == best && low < high
		}
	}
	return t
}

// ScoreText returns the text of a score: four digits after the point. Below 0.01, where these would be two significant digits or
// fewer, and from 1e9 on it has four significant digits.
func ScoreText(v float64) string {
	if a := math.Abs(v); a == 0 || a >= 0.01 && a < 1e9 {
		return strconv.FormatFloat(v, 'f', 4, 64)
	}
	return number(v)
}

// ErrorText returns the text of a standard error: two significant digits, or a dash where there is none, as of a single row.
func ErrorText(v float64) string {
	if math.IsNaN(v) {
		return "—"
	}
	return fmt.Sprintf("%.2g", v)
}

// number returns the text of a number with four significant digits, or all digits before the point.
func number(v float64) string {
	if a := math.Abs(v); a >= 1e-4 && a < 1e9 {
		return strconv.FormatFloat(v, 'f', max(0, 3-int(math.Floor(math.Log10(a)))), 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// sorted returns the indices of v in ascending order of the numbers or, with the sign −1, in descending
// order. Among equal numbers the first comes first.
func sorted(v []float64, sign float64) []int {
	order := dense.Indices(len(v))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sign*v[a], sign*v[b]) })
	return order
}
