package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"gonum.org/v1/gonum/stat"

	"github.com/go-valla/valla/experiments"
	"github.com/go-valla/valla/experiments/internal/result"
)

// fitLine is a line of the table: means over the seeds, and the largest peaks of memory.
type fitLine struct {
	Name      string   `json:"name"`                       // the row's name
	Settings  string   `json:"settings,omitempty"`         // the settings of the fits, in words
	Program   string   `json:"program,omitempty"`          // the version of the program that made the fits
	Wanted    float64  `json:"wanted_s"`                   // aim for the seconds of the fit
	WantedPre float64  `json:"wanted_predict_s,omitempty"` // aim for the seconds of the prediction; 0: no aim
	Here      *figures `json:"here,omitempty"`             // nil where nothing was measured
	Published *figures `json:"published,omitempty"`        // of the last published runs of the same seeds
	Note      string   `json:"note,omitempty"`             // why there is nothing here
}

// figures are costs and scores of a row.
type figures struct {
	Seeds   int         `json:"seeds"`             // the number of cells that are summed
	Fit     result.Cost `json:"fit"`               // the mean cost of the fits
	Predict result.Cost `json:"predict"`           // of the test rows, with their scores
	Quality []quality   `json:"quality,omitempty"` // the mean scores
}

// quality is a score.
type quality struct {
	Name string  `json:"name"`                     // such as NLL
	Mean float64 `json:"mean"`                     // over the seeds
	Err  float64 `json:"standard_error,omitempty"` // over the seeds, where there are several
}

// fitsReport is the outcome of --fits.
type fitsReport struct {
	session
	Rows []fitLine `json:"rows"` // the lines, in the order of the table
}

// printFits prints the table of the chosen rows as far as they are finished.
func (c *command) printFits(r fitsReport, chosen []fit, notes map[string]string, stdout io.Writer) error {
	found, damaged, err := result.ReadAll(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	for _, d := range damaged {
		fmt.Fprintf(c.progress, "peer: damaged, and counted as missing: %v\n", d)
	}
	published, err := experiments.Published()
	if err != nil {
		return err
	}
	r.Load[1] = load()
	for _, f := range chosen {
		r.Rows = append(r.Rows, f.line(found, published, notes[f.name]))
	}
	return c.print(stdout, r, func() string { return r.text(c.markdown) })
}

// line returns the row's line.
func (f fit) line(found []result.Found, published []*result.Cell, note string) fitLine {
	l := fitLine{Name: f.name, Wanted: f.wanted, WantedPre: f.predict, Note: note}
	var cells []*result.Cell
	for _, e := range found {
		if e.Experiment == fitsExperiment && e.Profile == f.name {
			cells = slices.DeleteFunc(slices.Clone(e.Done), func(c *result.Cell) bool { return c == nil })
		}
	}
	switch {
	case len(cells) == 0:
		l.Note = cmp.Or(note, "not measured")
		return l
	case cells[0].Refused != "":
		l.Note = cells[0].Refused
		return l
	}
	l.Here, l.Program, l.Settings = summed(cells), cells[0].Machine.Program, settingsOf(cells[0])
	l.Published = summed(slices.DeleteFunc(slices.Clone(published), func(p *result.Cell) bool {
		return !slices.ContainsFunc(cells, func(c *result.Cell) bool { return f.like(p, c) })
	}))
	return l
}

// like reports whether a published cell p has the data set, row, seed and number of steps of a cell
// c of the row.
func (f fit) like(p, c *result.Cell) bool {
	if p.Data != c.Data || p.Row != c.Row || p.Seed != c.Seed || p.Refused != "" {
		return false
	}
	theirs, _ := p.Setup()
	ours, _ := c.Setup()
	if theirs.Settings["iterations"] == nil { // not told: the experiment's
		return !slices.ContainsFunc(f.set, func(s [2]string) bool { return s[0] == "iterations" })
	}
	return fmt.Sprint(theirs.Settings["iterations"]) == fmt.Sprint(ours.Settings["iterations"])
}

// settingsOf describes how a cell was computed.
func settingsOf(c *result.Cell) string {
	var parts []string
	if c.Inducing > 0 {
		parts = append(parts, fmt.Sprintf("M = %d", c.Inducing))
	} else {
		parts = append(parts, c.Data, c.Row)
	}
	if c.Facts.Steps > 0 {
		parts = append(parts, result.Plural(c.Facts.Steps, "step"))
	}
	return strings.Join(append(parts, result.Plural(c.Fit.Cores, "thread")), ", ")
}

// summed returns the figures of cells of several seeds; nil if there are none.
func summed(cells []*result.Cell) *figures {
	if len(cells) == 0 {
		return nil
	}
	f, scores := &figures{Seeds: len(cells)}, map[string][]float64{}
	for _, c := range cells {
		f.Fit, f.Predict = f.Fit.Add(c.Fit), f.Predict.Add(c.Predict)
		for _, kind := range []string{"", "own", "probit"} {
			for name, v := range c.Scores[kind] {
				scores[name] = append(scores[name], float64(v))
			}
		}
		if c.Experiment == fitsExperiment && len(c.Scores) == 0 { // what work of its own has found
			for name, v := range c.Facts.Found {
				scores[name] = append(scores[name], float64(v))
			}
		}
	}
	n := float64(len(cells))
	for _, cost := range []*result.Cost{&f.Fit, &f.Predict} {
		cost.Wall, cost.CPU = cost.Wall/n, cost.CPU/n
	}
	for _, name := range []string{"NLL", "ECE", "CQM", "OOD-AUC", "log evidence", "mean squared distance"} {
		if v := scores[name]; len(v) > 0 {
			q := quality{Name: name, Mean: stat.Mean(v, nil)}
			if len(v) > 1 {
				q.Err = stat.StdDev(v, nil) / math.Sqrt(float64(len(v)))
			}
			f.Quality = append(f.Quality, q)
		}
	}
	return f
}

// text returns the table, in Markdown if that is asked for.
func (r fitsReport) text(markdown bool) string {
	w := newTable()
	w.AppendHeader(table.Row{"fit", "settings", "seeds", "wall s", "aim", "CPU s", "peak MiB", "predict s", "quality", "published: s", "quality"})
	for _, l := range r.Rows {
		w.AppendRow(l.cells())
	}
	if markdown {
		return w.RenderMarkdown() + "\n"
	}
	return r.line(r.Machine.CPU, result.Plural(r.Machine.Cores, "thread"), r.Machine.Go) + w.Render() + "\n"
}

// cells returns the columns of a line.
func (l fitLine) cells() table.Row {
	if l.Here == nil {
		return table.Row{l.Name, l.Note, "", "", atMost(l.Wanted)}
	}
	h := l.Here
	row := table.Row{l.Name, l.Settings, h.Seeds, digits(h.Fit.Wall), atMost(l.Wanted), digits(h.Fit.CPU), h.Fit.Peak >> 20, predicting(h.Predict.Wall, l.WantedPre), qualities(h.Quality)}
	if p := l.Published; p != nil {
		return append(row, seconds(p.Fit), qualities(p.Quality))
	}
	return append(row, "", "")
}

func atMost(s float64) string { return "≤ " + digits(s) }

// predicting returns the time of a prediction with its aim; "" where there was none.
func predicting(s, wanted float64) string {
	switch {
	case s == 0:
		return ""
	case wanted > 0:
		return digits(s) + " (" + atMost(wanted) + ")"
	}
	return fmt.Sprintf("%.3g", s)
}

// seconds returns wall-clock and CPU time of a published fit; "" where they are not known.
func seconds(c result.Cost) string {
	if c.Runs == 0 {
		return ""
	}
	return fmt.Sprintf("%s (CPU %s)", digits(c.Wall), digits(c.CPU))
}

// qualities returns scores on one line.
func qualities(list []quality) string {
	var parts []string
	for _, q := range list {
		text := fmt.Sprintf("%s %.4g", q.Name, q.Mean)
		if q.Err > 0 {
			text += fmt.Sprintf(" ± %.1g", q.Err)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
