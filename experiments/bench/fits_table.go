package bench

import (
	"cmp"
	"errors"
	"fmt"
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
	Name      string   `json:"name"`                      // the row's name
	Settings  string   `json:"settings,omitempty"`        // the settings of the fits, in words
	Program   string   `json:"program,omitempty"`         // the version of the program that made the fits
	Made      bool     `json:"made,omitempty"`            // the rows are made, so that scores say nothing
	Here      *figures `json:"here,omitempty"`            // nil where nothing was measured
	Floor     float64  `json:"floor_s,omitempty"`         // seconds of the operations of the fit at the speed of a core; 0: not known
	Predict   float64  `json:"predict_floor_s,omitempty"` // of the predictions
	Published *figures `json:"published,omitempty"`       // of the last published runs of the same seeds
	Note      string   `json:"note,omitempty"`            // why there is nothing here
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

// addLines adds the lines of the chosen rows to the report, as far as they are finished.
func (c *Command) addLines(r *report, chosen []fit, notes map[string]string, folder string) error {
	found, damaged, err := result.ReadAll(folder)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	for _, d := range damaged {
		fmt.Fprintf(c.progress, "damaged, and counted as missing: %v\n", d)
	}
	published, err := experiments.Published()
	if err != nil {
		return err
	}
	for _, f := range chosen {
		l := f.line(found, published, notes[f.name])
		if l.Here != nil {
			l.Floor, l.Predict = r.Peak.floor(l.Here.Fit.Needed), r.Peak.floor(l.Here.Predict.Needed)
		}
		r.Fits = append(r.Fits, l)
	}
	return nil
}

// line returns the row's line.
func (f fit) line(found []result.Found, published []*result.Cell, note string) fitLine {
	l := fitLine{Name: f.name, Note: note}
	var cells []*result.Cell
	for _, e := range found {
		if e.Experiment == fitsExperiment && e.Profile == f.name {
			cells = slices.DeleteFunc(slices.Clone(e.Done), func(c *result.Cell) bool { return c == nil })
		}
	}
	if len(cells) > 0 { // those of an earlier run may have other rows
		made := isMade(cells[0])
		cells = slices.DeleteFunc(cells, func(c *result.Cell) bool { return isMade(c) != made })
	}
	switch {
	case len(cells) == 0:
		l.Note = cmp.Or(note, "not measured")
		return l
	case cells[0].Refused != "":
		l.Note = cells[0].Refused
		return l
	}
	l.Here, l.Program, l.Settings, l.Made = summed(cells), cells[0].Machine.Program, settingsOf(cells[0]), isMade(cells[0])
	if l.Made {
		l.Here.Quality = nil
		return l
	}
	l.Published = summed(slices.DeleteFunc(slices.Clone(published), func(p *result.Cell) bool {
		return !slices.ContainsFunc(cells, func(c *result.Cell) bool { return f.like(p, c) })
	}))
	return l
}

// isMade reports whether the rows of a cell are made.
func isMade(c *result.Cell) bool { return c.Facts.Note == result.MadeNote }

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
	if isMade(c) {
		parts = append(parts, result.MadeNote)
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
		cost.Needed.Double, cost.Needed.Single = cost.Needed.Double/n, cost.Needed.Single/n
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

// fitsText returns the table of whole fits.
func (r report) fitsText(markdown bool) string {
	w := newTable()
	w.AppendHeader(table.Row{"fit", "settings", "seeds", "wall s", "CPU s", "floor s", "above floor", "peak MiB", "predictions: CPU s", "floor s", "above floor", "scores", "published: s", "scores"})
	alignRight(w, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	for _, l := range r.Fits {
		w.AppendRow(l.cells())
	}
	if markdown {
		return w.RenderMarkdown() + "\n"
	}
	return w.Render() + "\n"
}

// cells returns the columns of a line.
func (l fitLine) cells() table.Row {
	if l.Here == nil {
		return table.Row{l.Name, l.Note}
	}
	h := l.Here
	row := table.Row{l.Name, l.Settings, h.Seeds, digits(h.Fit.Wall), digits(h.Fit.CPU)}
	row = append(row, aboveFloor(h.Fit.CPU, l.Floor)...)
	row = append(row, h.Fit.Peak>>20)
	if h.Predict.CPU == 0 {
		row = append(row, "", "", "")
	} else {
		row = append(append(row, digits(h.Predict.CPU)), aboveFloor(h.Predict.CPU, l.Predict)...)
	}
	row = append(row, qualities(h.Quality))
	if p := l.Published; p != nil {
		row = append(row, seconds(p.Fit), qualities(p.Quality))
	}
	return row
}

// aboveFloor returns a floor, and CPU seconds as a multiple of it; "" where it is not known.
func aboveFloor(cpu, floor float64) table.Row {
	if floor == 0 {
		return table.Row{"", ""}
	}
	return table.Row{digits(floor), "× " + digits(cpu/floor)}
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
