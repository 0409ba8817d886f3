package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-valla/valla/experiments/internal/result"
)

// lawRows are the rows that the page of observation models compares: the Gaussian, laws after the fit, and Student's t
// inside the loss.
var lawRows = []string{
	"MAP", "MAP + law", "LLA KFAC", "LLA KFAC + law", "FMGP 100", "FMGP 100 + law",
	"VaLLA 100 natural", "VaLLA 100 + t", "VaLLA 100 + law", "VaLLA 100, t inside",
}

// lawColumns are the columns of a table of laws.
var lawColumns = []struct {
	head   string                           // heading
	digits int                              // decimals
	value  func(c *result.Cell) (v float64) // number of a cell
	cost   bool                             // whether the number is of the cells of one machine alone
}{
	{"NLL", 4, scoreOf("NLL"), false}, {"RMSE", 3, scoreOf("RMSE"), false}, {"CRPS", 4, scoreOf("CRPS"), false}, {"CQM", 3, scoreOf("CQM"), false},
	{"in 50 % intervals", 3, func(c *result.Cell) float64 { return c.Curves.Coverage[4] }, false},
	{"fit, CPU s", 1, func(c *result.Cell) float64 { return float64(c.Fit.CPU) }, true},
}

// scoreOf returns a function that returns a score of a cell.
func scoreOf(name string) func(c *result.Cell) float64 {
	return func(c *result.Cell) float64 { return float64(c.Scores[""][name]) }
}

// writeLaws writes the tables of laws between the marks of likelihoods.md in a folder. A folder without this page gets
// none.
func (r *Report) writeLaws(dir string) error {
	const begin, end = "<!-- laws: begin -->\n", "<!-- laws: end -->\n"
	path := filepath.Join(dir, "likelihoods.md")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	head, rest, found := strings.Cut(string(text), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("report: %s has no marks %q and %q", path, begin, end)
	}
	return result.WriteFile(path, []byte(head+begin+r.laws()+end+tail))
}

// laws returns a table for each data set that has rows with laws.
func (r *Report) laws() string {
	var b strings.Builder
	for _, e := range r.merged {
		for _, cells := range result.Grouped(e.cells, func(c *result.Cell) string { return c.Data }) {
			if rows := lawTable(cells); rows != nil {
				var head []string
				for _, c := range lawColumns {
					head = append(head, c.head)
				}
				fmt.Fprintf(&b, "\n**%s**\n\n%s", cells[0].Data, plainTable(append([]string{"row", "seeds"}, head...), rows))
			}
		}
	}
	return b.String() + "\n"
}

// lawTable returns the rows of the cells of a data set, nil if no row has a law.
func lawTable(cells []*result.Cell) (rows [][]string) {
	lawful := false
	for _, name := range lawRows {
		var of []*result.Cell
		for _, c := range cells {
			if c.Row == name && len(c.Curves.Coverage) == 9 {
				of = append(of, c)
			}
		}
		if of == nil {
			continue
		}
		lawful = lawful || strings.ContainsAny(name, "+,")
		row := []string{name, fmt.Sprint(len(of))}
		for _, column := range lawColumns {
			shown := of
			if column.cost {
				shown = oneMachine(of)
			}
			row = append(row, spread(shown, column.value, column.digits))
		}
		rows = append(rows, row)
	}
	if !lawful {
		return nil
	}
	return rows
}

// spread returns the mean and the standard deviation of a number of cells.
func spread(cells []*result.Cell, value func(c *result.Cell) float64, digits int) string {
	var v []float64
	for _, c := range cells {
		v = append(v, value(c))
	}
	mean, std := moments(v)
	if slices.Min(v) == slices.Max(v) {
		return format(mean, digits)
	}
	return format(mean, digits) + " ± " + format(std, digits)
}
